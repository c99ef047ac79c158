"""Whether a record is what wink wrote: each entry against the one before it, and the last one against what was kept elsewhere."""

from wink_verify._entries import Entry, Mismatch, entries, last_of, start_of
from wink_verify._verdict import Verdict
from wink_verify._verify import trust, verify

__all__ = ["Entry", "Mismatch", "Verdict", "entries", "last_of", "start_of", "trust", "verify"]
