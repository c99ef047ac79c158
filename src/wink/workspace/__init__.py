"""wink.workspace"""
