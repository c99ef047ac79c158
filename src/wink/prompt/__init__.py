"""wink.prompt"""
