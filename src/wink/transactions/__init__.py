"""wink.transactions"""
