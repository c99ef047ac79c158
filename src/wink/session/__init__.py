"""wink.session"""
