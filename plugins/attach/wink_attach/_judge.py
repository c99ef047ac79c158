"""Ask the same policies about calls of attached agents that are asked about wink's own: rules of settings, and reading before writing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final, TypeVar, cast

from wink.cli import installed_catalog, rule_policies
from wink.errors import PathRefused, WinkError
from wink.filesystem import Filesystem, Stamp
from wink.policies import ToolPolicy
from wink.runtime import ask_now
from wink.tools import ToolContext
from wink.workspace import Workspace
from wink_attach._agent import NOTHING, Event, Meaning, Verdict
from wink_attach._baseline import Baseline
from wink_attach._hidden import Hidden
from wink_rules import Rule, RulesPolicy

T = TypeVar("T")
_READ_BEFORE_WRITE: Final = "read-before-write.files"
_WRITING: Final = ("write_file", "edit_file")
_PATH: Final = "file_path"
_OTHERWISE: Final = "search in a directory without it, or for files of another kind with one glob, such as '*.py'"


class Judge:
    """The policies of one workspace, read again for each call, and what each session has read."""

    def __init__(self, workspace: Workspace, baseline: Baseline) -> None:
        self._workspace, self._baseline = workspace, baseline
        self._seen: dict[str, dict[str, Stamp]] = {}
        self._reading_first: dict[str, ToolPolicy | None] = {}
        self._hidden = Hidden(())
        self._secret: tuple[RulesPolicy, ...] = self._hiding(self.rules())
        self._secret_names = Hidden(self._secret)

    def rules(self) -> tuple[RulesPolicy, ...]:
        """What the settings say now; raises `RulesError` and `SettingsError`."""
        return rule_policies(self._workspace.root)

    @staticmethod
    def denies(root: str) -> bool:
        """Whether rules deny or ask in a workspace, or cannot be read: a call that nobody judged is no call then."""
        try:
            rules = rule_policies(root)
        except WinkError:
            return True
        return any(one.default != "allow" or any(rule.action != "allow" for rule in one.rules) for one in rules)

    def is_closed(self) -> bool:
        """The same of this one."""
        return self.denies(self._workspace.root)

    def check(self, event: Event, meaning: Meaning, session: str) -> Verdict:
        """What the policies say of a call; what is in doubt is denied."""
        try:
            rules = self.rules()
        except WinkError as error:
            return Verdict("deny", f"{event.tool} is denied: {error}; tell the user to run `wink doctor`", "rules")
        told = NOTHING
        for one in (meaning, *meaning.also):
            found = self._asked(
                rules, SimpleNamespace(name=one.tool, effects=one.effects), dict(one.arguments), session
            )
            if found.reason.startswith(one.tool):  # the model knows its own names
                found = found._replace(reason=event.tool + found.reason[len(one.tool) :])
            told = found if found.action == "deny" or told.action == "allow" else told
            if told.action == "deny":
                return told
        if meaning.unseen and self.is_closed():
            return Verdict("deny", f"{event.tool} is denied: {meaning.unseen}", "rules")
        if meaning.shows is not None:
            self._hidden = self._hidden.now(rules)
            path = self._hidden.within(self._workspace.root, event.directory, meaning.shows, self._baseline.entries)
            if path is not None:
                return Verdict(
                    "deny",
                    f"{event.tool} would show lines of {path!r}, which a rule denies to read; {_OTHERWISE}",
                    "rules",
                )
        if meaning.doubt and self._are_about_paths(rules, meaning, session):
            reason = f"{event.tool} is denied, since a rule is about paths and changes files here: {meaning.doubt}"
            return Verdict("deny", reason, "rules")
        if told.action != "deny" and meaning.tool in _WRITING:
            told = self._read_first(event, session) or told
        return told

    def is_secret(self, path: str, *, by_name: bool = False) -> bool:
        """Whether a rule denies to read a path: then its content is not kept either.

        A link has none, wherever it leads: that is asked `by_name`.
        """
        if not self._secret:
            return False
        if by_name:
            return self._secret_names.has(path)
        tool = SimpleNamespace(name="read_file", effects="read")
        return self._asked(self._secret, tool, {_PATH: path}, "default").action == "deny"

    def learn(self, event: Event, meaning: Meaning, session: str) -> None:
        """Note what a call that has ended well has shown to the model, or has written."""
        path = self._inner(event.arguments)
        if path is None or meaning.tool not in ("read_file", *_WRITING):
            return
        try:
            with self._workspace.filesystem.open_read(path) as stream:
                import hashlib

                digest, size = hashlib.sha256(), 0
                while chunk := stream.read(1 << 20):
                    digest.update(chunk)
                    size += len(chunk)
        except (OSError, WinkError):
            return
        first, count = event.arguments.get("offset"), event.arguments.get("limit")
        if meaning.tool == "read_file" and (isinstance(first, int) or isinstance(count, int)):
            begin = max(first - 1, 0) if isinstance(first, int) else 0
            end = begin + count if isinstance(count, int) else 1 << 40
            stamp = Stamp(path, digest.hexdigest(), size, ((begin, end),), complete=False)
        else:
            origin = "read" if meaning.tool == "read_file" else "write"
            stamp = Stamp(path, digest.hexdigest(), size, (), complete=True, origin=origin)
        known = self._known(session)
        known[path] = stamp.with_earlier(known.get(path))
        rows = [[one.path, one.digest, one.size, one.ranges, one.complete] for one in known.values()]
        self._baseline.note(f"seen:{session}", json.dumps(rows[-1000:]))

    def _read_first(self, event: Event, session: str) -> Verdict | None:
        """What the policy says that files are read before they are written; nothing where it is switched off."""
        if self._inner(event.arguments) is None:
            return None
        if event.tool not in self._reading_first:
            options: Any = {"read_tools": ("Read",), "write_tools": (event.tool,)}
            try:
                policy = installed_catalog(self._workspace.root).use("policy", _READ_BEFORE_WRITE, **options)
            except WinkError:
                policy = None
            self._reading_first[event.tool] = policy
        policy = self._reading_first[event.tool]
        if policy is None:
            return None
        params = SimpleNamespace(path=self._inner(event.arguments), old_string=event.arguments.get("old_string"))
        told = self._asked((policy,), SimpleNamespace(name=event.tool, effects="workspace"), params, session)
        return None if told.action == "allow" else told

    def _asked(self, policies: Sequence[ToolPolicy], tool: Any, params: Any, session: str) -> Verdict:
        if not policies:
            return NOTHING
        files = self._workspace.filesystem
        seen = self._known(session)
        part = files.begin(writable=False, seen=seen.get)
        try:
            surroundings = _Surroundings(part.handle)
            context = ToolContext(
                cast("Any", surroundings), None, cast("Any", None), self._workspace.session(session), call_id="attached"
            )
            verdicts = ask_now(policies, tool, params, context)
        finally:
            part.undo()
        for one in verdicts:
            if not one.allowed and not one.asks:
                return Verdict("deny", one.reason or "", one.policy)
        asked = [one for one in verdicts if one.asks]
        if asked:
            return Verdict("ask", "; ".join(one.reason or "" for one in asked), asked[0].policy)
        return NOTHING

    def _are_about_paths(self, rules: Sequence[RulesPolicy], meaning: Meaning, session: str) -> bool:
        """Whether a rule restricts on which paths one of the tools may be used that a call comes to."""
        tools = [one for one in (meaning, *meaning.also) if one.effects == "workspace"]
        about = tuple(
            Rule("deny", tools=rule.tools, effects=rule.effects)
            for one in rules
            for rule in one.rules
            if rule.paths and (rule.action != "allow" or rule.is_limit)
        )
        return any(
            self._asked((RulesPolicy(about),), SimpleNamespace(name=one.tool, effects=one.effects), {}, session).action
            == "deny"
            for one in tools
        )

    def _known(self, session: str) -> dict[str, Stamp]:
        known = self._seen.get(session)
        if known is None:
            rows: list[Any] = json.loads(self._baseline.fact(f"seen:{session}") or "[]")
            known = self._seen[session] = {
                path: Stamp(path, digest, size, tuple((a, b) for a, b in ranges), complete=complete)
                for path, digest, size, ranges, complete in rows
            }
        return known

    def _inner(self, arguments: Mapping[str, Any]) -> str | None:
        """The path that a call names, as one of the workspace; None for others, and where there is none."""
        path = arguments.get(_PATH)
        if not isinstance(path, str) or "\0" in path:
            return None
        root = self._workspace.root
        whole = os.path.normpath(os.path.join(root, path))
        for base in (root, os.path.realpath(root)):
            if whole.startswith(f"{base}/"):
                try:
                    return self._workspace.filesystem.normalize(whole[len(base) + 1 :])
                except PathRefused:
                    return None
        return None

    @staticmethod
    def _hiding(rules: tuple[RulesPolicy, ...]) -> tuple[RulesPolicy, ...]:
        """The rules that keep paths from being read."""
        found = tuple(rule for one in rules for rule in one.rules if rule.action == "deny" and rule.paths)
        return (RulesPolicy(found),) if found else ()


class _Surroundings:
    """What policies may ask of a prompt: its resources, which are the files alone."""

    def __init__(self, files: Filesystem) -> None:
        self._files = files

    @property
    def resources(self) -> _Surroundings:
        """Itself."""
        return self

    def get(self, protocol: type[T]) -> T:
        """The files."""
        found = self.get_optional(protocol)
        if found is None:
            from wink.errors import UnboundResourceError

            raise UnboundResourceError(protocol.__name__)
        return found

    def get_optional(self, protocol: type[T]) -> T | None:
        """The files, for whoever asks for those."""
        return cast("T", self._files) if protocol is Filesystem else None
