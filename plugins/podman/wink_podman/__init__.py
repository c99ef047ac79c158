"""A workspace in containers: file tools, shell commands and Python, each call all or nothing."""

from wink_podman._config import WORKSPACE, PodmanConfig
from wink_podman._guard import PodmanGuard
from wink_podman._params import EvaluatePythonParams, ShellExecuteParams
from wink_podman._results import ShellExecuteResult
from wink_podman._section import PodmanSandboxSection, podman_section
from wink_podman._settings import wink_settings

__all__ = [
    "WORKSPACE",
    "EvaluatePythonParams",
    "PodmanConfig",
    "PodmanGuard",
    "PodmanSandboxSection",
    "ShellExecuteParams",
    "ShellExecuteResult",
    "podman_section",
    "wink_settings",
]
