"""wink.runtime"""
