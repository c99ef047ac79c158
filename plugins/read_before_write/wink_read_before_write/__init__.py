"""The rule that a file has to be read before it is changed."""

from wink_read_before_write._policy import ReadBeforeWritePolicy, files_policy

__all__ = ["ReadBeforeWritePolicy", "files_policy"]
