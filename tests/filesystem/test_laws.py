"""Operations in any order, on every kind of filesystem, against a dictionary."""

import shutil
import tempfile
from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from wink.filesystem import FilePart, Filesystem, FilesystemSnapshot, HostFilesystem, InMemoryFilesystem

Model = dict[str, bytes | None]
PATHS = st.lists(st.sampled_from(["a", "b", "c.txt"]), min_size=1, max_size=3).map("/".join)
CONTENT = st.binary(max_size=4)


def parents(path: str) -> list[str]:
    """Every directory above a path."""
    names = path.split("/")
    return ["/".join(names[:end]) for end in range(1, len(names))]


class Machine(RuleBasedStateMachine):
    """A stack of open parts over one tree, each with the model as it was when the part began."""

    def make(self) -> Filesystem:
        """The filesystem that is tried."""
        return InMemoryFilesystem()

    @initialize()
    def start(self) -> None:
        self.root = self.make()
        self.model: Model = {}
        self.parts: list[tuple[FilePart, Model]] = []
        self.snapshots: list[tuple[FilesystemSnapshot, Model]] = []

    @property
    def files(self) -> Filesystem:
        """Where operations go: the innermost handle, or the root."""
        return self.parts[-1][0].handle if self.parts else self.root

    def can_hold(self, path: str) -> bool:
        """Whether the parents of a path are directories or missing."""
        return all(self.model.get(parent, None) is None for parent in parents(path) if parent in self.model)

    def add(self, path: str, content: bytes | None) -> None:
        """Put an entry into the model, with its parents."""
        self.model |= dict.fromkeys(parents(path))
        self.model[path] = content

    def below(self, path: str) -> list[str]:
        """A path and everything beneath it."""
        return [name for name in self.model if name == path or name.startswith(path + "/")]

    @rule(path=PATHS, content=CONTENT, append=st.booleans())
    def write(self, path: str, content: bytes, append: bool) -> None:
        """Writing succeeds exactly where no directory is, and no file is above."""
        try:
            self.files.write_bytes(path, content, "append" if append else "overwrite")
        except (IsADirectoryError, NotADirectoryError):
            assert not self.can_hold(path) or (path in self.model and self.model[path] is None)
        else:
            old = self.model.get(path) or b""
            self.add(path, old + content if append else content)

    @rule(path=PATHS, content=CONTENT)
    def stream(self, path: str, content: bytes) -> None:
        """A stream does what a write does."""
        with suppress(IsADirectoryError, NotADirectoryError):
            with self.files.open_write(path) as stream:
                stream.write(content)
            self.add(path, content)

    @rule(path=PATHS)
    def mkdir(self, path: str) -> None:
        """Directories are made where no file is."""
        try:
            self.files.mkdir(path)
        except (FileExistsError, NotADirectoryError):
            assert not self.can_hold(path) or self.model.get(path) is not None
        else:
            self.add(path, None)

    @rule(path=PATHS, recursive=st.booleans())
    def delete(self, path: str, recursive: bool) -> None:
        """What is there goes; a full directory only when told."""
        try:
            self.files.delete(path, recursive)
        except OSError:
            assert path not in self.model or (len(self.below(path)) > 1 and not recursive)
        else:
            for name in self.below(path):
                del self.model[name]

    @rule(source=PATHS, to=PATHS, overwrite=st.booleans())
    def move(self, source: str, to: str, overwrite: bool) -> None:
        """Everything beneath the source is beneath the target afterwards."""
        try:
            self.files.move(source, to, overwrite=overwrite)
        except OSError:
            return
        assert source in self.model
        moved = {to + name[len(source) :]: self.model.pop(name) for name in self.below(source)}
        self.model.pop(to, None)
        self.add(to, None)
        self.model |= moved

    @rule(source=PATHS, to=PATHS, overwrite=st.booleans())
    def copy(self, source: str, to: str, overwrite: bool) -> None:
        """The target gets the source's content."""
        with suppress(OSError):
            self.files.copy(source, to, overwrite=overwrite)
            self.add(to, self.model[source])

    @precondition(lambda self: len(self.parts) < 3)
    @rule()
    def begin(self) -> None:
        """A call, or a call within it."""
        self.parts.append((self.files.begin(), dict(self.model)))

    @precondition(lambda self: self.parts)
    @rule()
    def undo(self) -> None:
        """Everything is as it was when the part began."""
        part, before = self.parts.pop()
        self.check_changes(part, before)
        part.undo()
        self.model = before

    @precondition(lambda self: self.parts)
    @rule()
    def publish(self) -> None:
        """The part's changes are those of whatever is around it."""
        part, before = self.parts.pop()
        self.check_changes(part, before)
        part.prepare()
        part.publish()

    @precondition(lambda self: not self.parts and isinstance(self.root, InMemoryFilesystem))
    @rule()
    def snapshot(self) -> None:
        """Remember a state, and let go of old ones now and then."""
        assert isinstance(self.root, InMemoryFilesystem)
        self.snapshots = [*self.snapshots[-2:], (self.root.snapshot(), dict(self.model))]

    @precondition(lambda self: not self.parts and self.snapshots)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Any snapshot that is kept can be restored."""
        assert isinstance(self.root, InMemoryFilesystem)
        snapshot, model = data.draw(st.sampled_from(self.snapshots))
        self.root.restore(snapshot)
        self.model = dict(model)

    def check_changes(self, part: FilePart, before: Model) -> None:
        """The net changes are the difference between the models."""
        changes = {change.path: change for change in part.changes()}
        assert len(changes) == len(part.changes())
        differing = {
            path
            for path in before.keys() | self.model.keys()
            if (path in before, before.get(path)) != (path in self.model, self.model.get(path))
        }
        assert set(changes) == differing
        for path, change in changes.items():
            for version, model in ((change.before, before), (change.after, self.model)):
                assert (version is not None) == (path in model)
                if version is not None:
                    assert version.kind == ("directory" if model[path] is None else "file")
                    assert version.content() == model[path]
            if change.moved_from is not None:
                assert change.moved_from in before
                assert change.moved_from not in self.model

    @invariant()
    def the_tree_is_the_model(self) -> None:
        """Every path, every content, and every stamp that claims to know one."""
        if not hasattr(self, "root"):
            return
        found = self.files.glob("**", limit=10_000)
        assert {match.path: match.is_file for match in found} == {
            path: content is not None for path, content in self.model.items()
        }
        for part, _ in self.parts:
            for path, stamp in part.noted().items():
                if stamp is not None and stamp.digest == self.files.fingerprint(path):
                    assert stamp.size == len(self.model[path] or b"")

    @rule(path=PATHS)
    def read(self, path: str) -> None:
        """A read gives what the model has."""
        try:
            content = self.files.read_bytes(path)
        except OSError:
            assert self.model.get(path) is None
        else:
            assert content == self.model[path]

    def teardown(self) -> None:
        """End what is still open; the tree of the outermost part is as it was."""
        while getattr(self, "parts", []):
            self.undo()
            self.the_tree_is_the_model()
        close = getattr(getattr(self, "root", None), "close", None)
        if close is not None:
            close()


class DiskMachine(Machine):
    """The same on a disk."""

    def make(self) -> Filesystem:
        self.directory = tempfile.mkdtemp()
        return HostFilesystem(self.directory)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory)


TestMemory = Machine.TestCase
TestMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestDisk = DiskMachine.TestCase
TestDisk.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
