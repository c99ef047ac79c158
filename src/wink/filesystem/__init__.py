"""wink.filesystem"""
