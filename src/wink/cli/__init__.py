"""wink.cli"""
