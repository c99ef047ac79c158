"""What a handler knows of a session, under the name that the documents of the specification import it by."""

from wink.session import Session

SessionProtocol = Session
"""A session; there is one kind."""

__all__ = ["SessionProtocol"]
