"""wink.serde"""
