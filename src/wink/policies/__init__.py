"""wink.policies"""
