"""The same conversations as for every provider, whole and streamed."""

from plugins.models.tests.conftest import streams

__all__ = ["streams"]
