"""The name that `wink_models` had before it became a package beside the plugins: the same objects, with a warning. It goes with the next release."""

from wink.spellings import moved

__getattr__ = moved(__name__, "wink_models")
