"""Every name of the specification can be imported from where the specification says."""

from importlib import import_module

import pytest

TOOLS = (
    "Tool ToolHandler ToolRenderableResult ToolValidationError DeadlineExceededError ToolExample ToolResult ToolContext "
    "PromptValidationError"
)
POLICIES = "PolicyDecision PolicyState ToolPolicy SequentialDependencyPolicy ReadBeforeWritePolicy"
SESSION = (
    "Session InProcessDispatcher DispatchResult append_all replace_latest replace_latest_by upsert_by reducer Append Extend "
    "Replace Clear InitializeSlice ClearSlice SlicePolicy Snapshot SnapshotSerializationError SnapshotRestoreError "
    "PromptRendered RenderedTools ToolInvoked PromptExecuted TokenUsage"
)
NAMES = {
    "wink": TOOLS.replace("PromptValidationError", ""),
    "wink.serde": "parse dump schema extras ParseError",
    "wink.tools": TOOLS,
    "wink.prompt": f"{TOOLS} {POLICIES} Section MarkdownSection ToolsSection TextSection PromptTemplate Prompt RenderedPrompt "
    "PromptRenderError PromptEvaluationError",
    "wink.policies": POLICIES,
    "wink.session": SESSION,
    "wink.runtime": f"{SESSION} ToolExecutor tool_transaction create_snapshot restore_snapshot CompositeSnapshot Deadline Budget "
    "BudgetTracker Heartbeat RunContext",
    "wink.resources": "Binding ResourceRegistry Scope Closeable PostConstruct Snapshotable UnboundResourceError "
    "CircularDependencyError DuplicateBindingError ProviderError",
    "wink.filesystem": "Filesystem InMemoryFilesystem HostFilesystem ReadResult WriteResult FileStat FileEntry GlobMatch GrepMatch "
    "FilesystemSnapshot",
    "wink.adapters": "ProviderAdapter PromptResponse PromptEvaluationError",
    "wink_planning": "PlanningToolsSection Plan PlanStep StepStatus PlanStatus SetupPlan AddStep UpdateStep ReadPlan PlanningStrategy",
    "wink_files": "VfsToolsSection HostMount VfsConfig",
    "wink_read_before_write": "ReadBeforeWritePolicy",
    "wink_asteval": "AstevalSection",
}


@pytest.mark.parametrize(("package", "name"), [(package, name) for package in NAMES for name in NAMES[package].split()])
def test_the_name_is_there(package: str, name: str) -> None:
    """Programs that exist already import it from there."""
    assert getattr(import_module(package), name) is not None


def test_a_name_means_the_same_everywhere() -> None:
    """An `isinstance` or `except` must not depend on where a name was imported from."""
    found: dict[str, object] = {}
    for package, names in NAMES.items():
        for name in names.split():
            value = getattr(import_module(package), name)
            assert found.setdefault(name, value) is value


@pytest.mark.parametrize("package", ["wink", "wink.session", "wink.policies", "wink.prompt"])
def test_other_names_are_unknown(package: str) -> None:
    """Packages that import names when they are asked for must not hide a spelling mistake."""
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Sesion'"):
        _ = import_module(package).Sesion
