"""`wink.session`, under the name that the documents of the specification import it by."""

from wink.session import Session

__all__ = ["Session"]
