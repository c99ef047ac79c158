"""The name that `wink_fsspec` had before it became a plugin: the same objects, with a warning. It goes with the next release."""

from wink.spellings import moved

__getattr__ = moved(__name__, "wink_fsspec")
