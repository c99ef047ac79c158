"""wink.resources"""
