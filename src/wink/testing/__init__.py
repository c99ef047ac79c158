"""What authors of plugins and of filesystems need to test them; nothing of it is loaded unless it is asked for."""

from typing import TYPE_CHECKING

from wink.testing._distributions import FakeDistribution, fake_distribution

if TYPE_CHECKING:
    from wink.testing._filesystems import FilesystemContract
    from wink.testing._recording import Recording, RecordingAdapter, ReplayAdapter

__all__ = [
    "FakeDistribution",
    "FilesystemContract",
    "Recording",
    "RecordingAdapter",
    "ReplayAdapter",
    "fake_distribution",
]


def __getattr__(name: str) -> object:
    if name in ("Recording", "RecordingAdapter", "ReplayAdapter"):
        from wink.testing import _recording

        return getattr(_recording, name)
    if name != "FilesystemContract":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sys

    import pytest

    if "wink.testing._filesystems" not in sys.modules:
        # So that an assertion that fails shows the values in it, as in a test of the author's own.
        pytest.register_assert_rewrite("wink.testing._filesystems")
    from wink.testing._filesystems import FilesystemContract

    globals()[name] = FilesystemContract
    return FilesystemContract
