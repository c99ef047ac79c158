"""wink.adapters"""
