"""What the tests with a real Ray need."""

from __future__ import annotations

import os
import secrets

# Ray looks at these when it is imported; a cluster and its drivers share one key.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# The nodes of a cluster import the tests' modules from here, and not from the directory that they happen to begin in.
os.environ["PYTHONPATH"] = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
