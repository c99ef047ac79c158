"""wink.limits"""
