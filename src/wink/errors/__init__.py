"""The exceptions that wink raises on purpose, in one tree under `WinkError`; those of a plugin lie in its package."""

from typing import TYPE_CHECKING, Any

from wink.errors import (
    _adapters,
    _core,
    _files,
    _plugins,
    _policies,
    _prompt,
    _resources,
    _runtime,
    _sandbox,
    _serde,
    _session,
    _tries,
    _workspace,
)
from wink.errors._adapters import *
from wink.errors._core import *
from wink.errors._files import *
from wink.errors._plugins import *
from wink.errors._policies import *
from wink.errors._prompt import *
from wink.errors._resources import *
from wink.errors._runtime import *
from wink.errors._sandbox import *
from wink.errors._serde import *
from wink.errors._session import *
from wink.errors._tries import *
from wink.errors._workspace import *

__all__: list[str] = []
__all__ += _adapters.__all__
__all__ += _core.__all__
__all__ += _files.__all__
__all__ += _plugins.__all__
__all__ += _policies.__all__
__all__ += _prompt.__all__
__all__ += _resources.__all__
__all__ += _runtime.__all__
__all__ += _sandbox.__all__
__all__ += _serde.__all__
__all__ += _session.__all__
__all__ += _tries.__all__
__all__ += _workspace.__all__

# Tracebacks and pickles name an exception as users import it.
for _name in __all__:
    globals()[_name].__module__ = __name__

_MOVED = {
    "wink.testing": "InjectedFault RecordingUnreadable ReplayMismatch UndeclaredEffects",
    "wink_batch": "BatchBusy BatchDamaged BatchError EngineFailed SourceUnavailable TableError UnknownTask",
    "wink_bundles": "BundleRefused ExportFailed ImportRefused",
    "wink_http": "AddressRefused TokenUnusable",
    "wink_mcp": "ClientSettingRefused McpServerFailed TooManySessions",
    "wink_overlay": "LowerFailed OverlayCommitFailed",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Those of plugins, until the next release."""
        from wink.spellings import moved

        for package, names in _MOVED.items():
            if name in names.split():
                return moved("wink.errors", package)(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
