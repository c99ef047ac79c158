"""wink.plugins"""
