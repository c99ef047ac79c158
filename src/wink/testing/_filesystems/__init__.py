"""One class of tests that every filesystem of wink passes, for those who make another one."""

from wink.testing._filesystems._calls import Calls
from wink.testing._filesystems._changes import Changes
from wink.testing._filesystems._editing import Editing
from wink.testing._filesystems._finding import Finding
from wink.testing._filesystems._host import Host
from wink.testing._filesystems._links import Links
from wink.testing._filesystems._paths import Paths
from wink.testing._filesystems._promises import exactly
from wink.testing._filesystems._reading import Reading
from wink.testing._filesystems._savepoints import Savepoints
from wink.testing._filesystems._snapshots import Snapshots
from wink.testing._filesystems._stamps import Stamps
from wink.testing._filesystems._streams import Streams
from wink.testing._filesystems._writing import Writing

__all__ = ["FilesystemContract", "exactly"]


class FilesystemContract(
    Reading, Writing, Editing, Streams, Paths, Links, Finding, Calls, Savepoints, Changes, Snapshots, Stamps, Host
):  # fmt: skip
    """All that a filesystem promises to tools, policies and the runtime, as tests for pytest.

    Subclass it in a test module, define `make_filesystem`, and say what the filesystem can do by the attributes
    `has_links`, `has_modes`, `has_times`, `has_portable_names`, `has_snapshots`, `reopens` and `on_host`. What is declared
    is tested. A test that fails ends its report with the promise that was broken.
    """
