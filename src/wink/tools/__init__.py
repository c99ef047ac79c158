"""wink.tools"""
