"""The section keeps what every section promises; its tools are tried with real containers elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from wink.prompt import Section
from wink.testing import SectionContract
from wink_podman import PodmanSandboxSection


class TestSection(SectionContract):
    """No container is needed to say what there is."""

    fs = "disk"

    @pytest.fixture
    def section(self) -> Section[Any]:
        return PodmanSandboxSection(image="localhost/none:1")
