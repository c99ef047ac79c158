"""Every exception that wink raises on purpose, in one tree under `WinkError`."""

from wink.errors import (
    _adapters,
    _batch,
    _core,
    _files,
    _mcp,
    _mcp_mount,
    _plugins,
    _policies,
    _prompt,
    _resources,
    _runtime,
    _sandbox,
    _serde,
    _session,
    _testing,
    _tries,
    _workspace,
)
from wink.errors._adapters import *
from wink.errors._batch import *
from wink.errors._core import *
from wink.errors._files import *
from wink.errors._mcp import *
from wink.errors._mcp_mount import *
from wink.errors._plugins import *
from wink.errors._policies import *
from wink.errors._prompt import *
from wink.errors._resources import *
from wink.errors._runtime import *
from wink.errors._sandbox import *
from wink.errors._serde import *
from wink.errors._session import *
from wink.errors._testing import *
from wink.errors._tries import *
from wink.errors._workspace import *

__all__: list[str] = []
__all__ += _adapters.__all__
__all__ += _batch.__all__
__all__ += _core.__all__
__all__ += _files.__all__
__all__ += _mcp.__all__
__all__ += _mcp_mount.__all__
__all__ += _plugins.__all__
__all__ += _policies.__all__
__all__ += _prompt.__all__
__all__ += _resources.__all__
__all__ += _runtime.__all__
__all__ += _sandbox.__all__
__all__ += _serde.__all__
__all__ += _session.__all__
__all__ += _testing.__all__
__all__ += _tries.__all__
__all__ += _workspace.__all__

# Tracebacks and pickles name an exception as users import it.
for _name in __all__:
    globals()[_name].__module__ = __name__
