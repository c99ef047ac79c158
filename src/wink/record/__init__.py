"""wink.record"""
