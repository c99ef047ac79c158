"""The standard library's zstd where there is one, else its backport; imported when a block of texts is written or read."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
