"""The same conversations as for every provider, whole and streamed."""

from tests.adapters.providers.conftest import streams

__all__ = ["streams"]
