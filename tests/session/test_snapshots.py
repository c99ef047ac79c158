"""Snapshots: taking state back, storing it as JSON, and loading it from elsewhere."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import dataclass, make_dataclass

import pytest

from wink.errors import SessionError, SnapshotRestoreError, SnapshotSerializationError
from wink.session import Session, SlicePolicy, Snapshot, Upsert, replace_latest, upsert_by


@dataclass(frozen=True, slots=True)
class Note:
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    path: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    what: str


@dataclass(frozen=True, slots=True)
class Opaque:
    thing: object


NAME = f"{__name__}:"


def filled() -> Session:
    session = Session(slice_config={Seen: SlicePolicy.LOG}, tags={"user": "x"})
    session[Page].register(Page, upsert_by(lambda page: page.path))
    session[Note].seed([Note("a"), Note("b")])
    session[Page].seed([Page("p", "1"), Page("q", "1")])
    session.dispatch(Seen("1"))
    return session


def state(session: Session) -> tuple[object, ...]:
    return session[Note].all(), session[Page].all(), session[Seen].all()


def test_restore_takes_state_back_and_leaves_logs() -> None:
    """What happened has happened; what was made of it may change."""
    session = filled()
    before = session.snapshot()
    session.dispatch(Note("c"))
    session.dispatch(Page("p", "2"))
    session.dispatch(Seen("2"))
    session.restore(before)
    assert state(session) == (
        (Note("a"), Note("b")),
        (Page("p", "1"), Page("q", "1")),
        (Seen("1"), Seen("2")),
    )
    session.restore(before, preserve_logs=False)
    assert session[Seen].all() == (Seen("1"),)


def test_snapshot_never_changes() -> None:
    """Slices share their storage with it."""
    session = filled()
    before = session.snapshot()
    slices = dict(before.slices.items())
    for text in "xyz":
        session.dispatch(Note(text))
        session.dispatch(Page("p", text))
    session.restore(before)
    session.dispatch(Note("other"))
    session.dispatch(Page("q", "other"))
    assert dict(before.slices) == slices
    assert session[Note].all() == (Note("a"), Note("b"), Note("other"))
    assert session[Page].all() == (Page("p", "1"), Page("q", "other"))


def test_slices_that_came_later_are_empty_after_restore() -> None:
    """The snapshot was taken when there were none."""
    session = Session()
    before = session.snapshot()
    session.dispatch(Note("a"))
    session.restore(before)
    assert session[Note].all() == ()


def test_clone_is_independent() -> None:
    """It has the items, the reducers and the tags, and goes its own way."""
    session = filled()
    copy = session.clone()
    session.dispatch(Note("session"))
    copy.dispatch(Note("copy"))
    copy.dispatch(Page("p", "copy"))
    session.dispatch(Seen("session"))
    assert copy[Note].all() == (Note("a"), Note("b"), Note("copy"))
    assert copy[Page].all() == (Page("p", "copy"), Page("q", "1"))
    assert session[Note].all() == (Note("a"), Note("b"), Note("session"))
    assert session[Page].all() == (Page("p", "1"), Page("q", "1"))
    assert copy[Seen].all() == (Seen("1"),)
    assert copy.session_id != session.session_id
    assert dict(copy.tags) == {"user": "x"}


def test_snapshot_of_one_session_restores_into_another() -> None:
    """Neither may write into the other's storage afterwards."""
    one, two = filled(), Session()
    two[Page].register(Page, upsert_by(lambda page: page.path))
    two.restore(one.snapshot(), preserve_logs=False)
    two.dispatch(Note("two"))
    one.dispatch(Note("one"))
    one.dispatch(Page("p", "one"))
    assert two[Note].all() == (Note("a"), Note("b"), Note("two"))
    assert one[Note].all() == (Note("a"), Note("b"), Note("one"))
    assert two[Page].get("p") == Page("p", "1")


# -- JSON


def test_json_round_trip() -> None:
    """A snapshot survives the process."""
    session = filled()
    text = session.snapshot().to_json()
    other = Session(slice_config={Seen: SlicePolicy.LOG})
    snapshot = Snapshot.from_json(text)
    other[Note], other[Page]
    other.restore(snapshot, preserve_logs=False)
    assert state(other) == state(session)
    assert other[Page].get("p") == Page("p", "1")
    assert snapshot.session_id == session.session_id
    assert dict(snapshot.tags) == {"user": "x"}
    assert json.loads(text)["schema_version"] == 1


def test_unknown_types_wait_until_somebody_asks() -> None:
    """A snapshot imports nothing; and what nobody asks for is not lost."""
    text = filled().snapshot().to_json()
    session = Session()
    snapshot = Snapshot.from_json(text)
    assert set(snapshot.unknown) == {NAME + "Note", NAME + "Page", NAME + "Seen"}
    session.restore(snapshot, preserve_logs=False)
    again = Snapshot.from_json(session.snapshot().to_json())
    assert again.unknown == snapshot.unknown
    assert session[Note].all() == (Note("a"), Note("b"))
    assert session[Page].get("q") == Page("q", "1")
    assert Note in session.snapshot().slices


def test_names_in_a_snapshot_are_never_imported() -> None:
    """Whoever can write a snapshot must not be able to run a module."""
    data = json.loads(filled().snapshot().to_json())
    data["slices"] = [{"type": "antigravity:Fly", "policy": "state", "items": [{}]}]
    session = Session()
    session.restore(Snapshot.from_json(json.dumps(data)))
    session.snapshot().to_json()
    assert "antigravity" not in sys.modules


def test_unknown_slices_are_taken_back_like_others() -> None:
    """A snapshot of a session that never met the type holds what it was given."""
    session = Session()
    session.restore(Snapshot.from_json(filled().snapshot().to_json()), preserve_logs=False)
    before = session.snapshot()
    session[Note].append(Note("c"))
    session.restore(before)
    assert session[Note].all() == (Note("a"), Note("b"))


def test_unknown_types_cannot_come_in_during_a_call() -> None:
    """They are not staged, so they could not be rolled back."""
    session = Session()
    snapshot = Snapshot.from_json(filled().snapshot().to_json())
    part = session.begin()
    token = part.enter()
    with pytest.raises(SessionError, match="restore it outside of a call"):
        session.restore(snapshot)
    part.exit(token)
    part.undo()


def test_fields_that_a_type_has_no_more_are_ignored() -> None:
    """Programs change between two runs."""
    data = json.loads(filled().snapshot().to_json())
    data["slices"][0]["items"][0]["retired"] = 1
    session = Session()
    session.restore(Snapshot.from_json(json.dumps(data)))
    assert session[Note].latest() == Note("b")


def test_item_that_does_not_fit_is_named_and_nothing_changes() -> None:
    """Everything is read before anything changes."""
    data = json.loads(filled().snapshot().to_json())
    data["slices"][1]["items"][1] = {"path": 3}
    session = filled()
    session[Note].clear()
    with pytest.raises(SnapshotRestoreError, match="Page item 1: ") as caught:
        session.restore(Snapshot.from_json(json.dumps(data)))
    assert (caught.value.type_name, caught.value.index) == (NAME + "Page", 1)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert session[Note].all() == ()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda _text: "{", "it is no JSON"),
        (lambda _text: None, "it is no JSON"),
        (lambda _text: "[" * 100_000, "it is no JSON"),
        (lambda text: text[: len(text) // 2], "it is no JSON"),
        (
            lambda _text: "[]",
            "it is no snapshot of a session: its schema_version is None; pass what Snapshot.to_json()",
        ),
        (
            lambda text: text.replace('"schema_version":1', '"schema_version":99'),
            "a newer wink has written it, so read it",
        ),
        (lambda text: text.replace('"schema_version":1', '"schema_version":true'), "its schema_version is True"),
        (lambda text: text.replace('"keys":["p"', '"keys":[5'), "Page item 0: a key is no text"),
        (lambda text: text.replace('"keys":["p","q"]', '"keys":["p"]'), "its envelope is damaged: ValueError"),
        (lambda text: text.replace(':Page"', ':Note"'), "Note: there are two slices of this type"),
        (lambda text: text.replace('"session_id"', '"id"'), "its envelope is damaged: KeyError"),
        (lambda text: text.replace('{"text":"a"}', "3"), "an item is no JSON object"),
        (lambda text: text.replace('"policy":"state"', '"policy":"rumour"'), "its envelope is damaged: ValueError"),
        (lambda text: text.replace("+00:00", ""), "has no timezone"),
    ],
)
def test_damaged_snapshots_say_what_is_wrong(change: object, problem: str) -> None:
    """Somebody has to find out why a run cannot be resumed."""
    text = filled().snapshot().to_json()
    with pytest.raises(SnapshotRestoreError) as caught:
        Snapshot.from_json(change(text))  # type: ignore[operator]
    assert problem in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_class_that_was_renamed_is_read_under_its_new_name() -> None:
    """Programs change between two runs, and what they stored must not be lost for it."""
    text = filled().snapshot().to_json().replace(":Note", ":Remark").replace(NAME + "Page", "old.place:Page")
    session = Session()
    with pytest.raises(SnapshotRestoreError, match=r"knows no .*:Remark.*renamed=\{old name: class\}"):
        session.restore(Snapshot.from_json(text), unknown="refuse")
    assert session.snapshot().slices == {}

    renamed = {NAME + "Remark": Note, "old.place:Page": Page}
    session.restore(Snapshot.from_json(text, renamed=renamed))
    assert session[Note].all() == (Note("a"), Note("b"))
    assert session[Page].get("q") == Page("q", "1")


@pytest.mark.parametrize(
    ("renamed", "problem"),
    [
        ({"nowhere:X": Note}, r"renamed has nowhere:X, which it does not hold; its slices are .*:Note, "),
        ({NAME + "Page": Note}, r"it has a slice of .*:Note already; rename .*:Page to another class"),
    ],
)
def test_new_names_have_to_fit(renamed: dict[str, type], problem: str) -> None:
    """A misspelt name would lose a slice, and two of one name would lose one of them."""
    with pytest.raises(SnapshotRestoreError, match=problem):
        Snapshot.from_json(filled().snapshot().to_json(), renamed=renamed)


def test_types_that_the_session_knows_are_no_reason_to_refuse() -> None:
    """Whoever asked for a slice before can be strict about the rest."""
    session = Session()
    session[Note], session[Page], session[Seen]
    session.restore(Snapshot.from_json(filled().snapshot().to_json()), preserve_logs=False, unknown="refuse")
    assert state(session) == state(filled())


@pytest.mark.parametrize("empty", ["clear", "seed", "reset", "restore"])
def test_what_cannot_be_read_any_more_can_be_emptied(empty: str) -> None:
    """A class that has changed must not make its session unusable for good."""
    session, before = Session(), Session().snapshot()
    session.restore(Snapshot.from_json(filled().snapshot().to_json().replace('{"text":"a"}', '{"words":"a"}')))
    for _ in range(2):
        with pytest.raises(SnapshotRestoreError, match=r"Note item 0: .*text.*; Note has changed since.*Note\]\.clear"):
            session[Note].all()

    match empty:
        case "clear":
            session[Note].clear()
        case "seed":
            session[Note].seed(())
        case "reset":
            session.reset()
        case _:
            session.restore(before)
    session[Note].append(Note("new"))
    assert session[Note].all() == (Note("new"),)
    assert Snapshot.from_json(session.snapshot().to_json()).unknown


def test_what_cannot_be_read_any_more_is_emptied_where_it_is_stored_too() -> None:
    """The record is told, as of any other write outside of calls."""
    session, told = Session(), []
    session.load(Store(Note=[(None, '{"words":1}')]))
    session.direct_recorder = told.extend
    session[Note].clear()
    assert [(delta.op, delta.items) for delta in told] == [("replace", ())]


def test_a_key_function_that_fails_names_the_item() -> None:
    """It is foreign code, and reading a snapshot runs it."""
    session = Session()
    session[Page].register(Page, upsert_by(lambda page: page.path[0]))
    text = filled().snapshot().to_json().replace('"path":"q"', '"path":""')
    with pytest.raises(SnapshotRestoreError, match="Page item 1: IndexError: string index out of range"):
        session.restore(Snapshot.from_json(text))


def test_what_has_no_json_form_is_named() -> None:
    """Slice and item, since the state may be large."""
    session = Session()
    session[Opaque].seed([Opaque("fine"), Opaque(lambda: None)])
    with pytest.raises(SnapshotSerializationError, match=r"Opaque item 1: ") as caught:
        session.snapshot().to_json()
    assert caught.value.index == 1


def test_two_types_of_one_name_cannot_be_stored_together() -> None:
    """Nobody could tell them apart afterwards."""
    session = Session()
    for _ in range(2):
        cls = make_dataclass("Twin", [("x", int)], frozen=True)
        cls.__module__ = __name__
        session.dispatch(cls(1))
    with pytest.raises(SnapshotSerializationError, match="two types have this name"):
        session.snapshot().to_json()


# -- loading


class Store:
    """Rows by type name, and which of them were asked for."""

    def __init__(self, **rows: list[tuple[str | None, str]]) -> None:
        self.rows = {NAME + name: found for name, found in rows.items()}
        self.asked: list[str] = []

    def __call__(self, type_name: str) -> list[tuple[str | None, str]] | None:
        self.asked.append(type_name.removeprefix(NAME))
        return self.rows.get(type_name)


def test_slices_are_loaded_when_they_are_first_asked_for() -> None:
    """Opening a session costs the same however much is stored."""
    store = Store(Note=[(None, '{"text":"stored"}')], Page=[("p", '{"path":"p"}'), (None, '{"path":"x"}')])
    session = Session()
    session.load(store)
    assert store.asked == []
    session.dispatch(Note("new"))
    assert session[Note].all() == (Note("stored"), Note("new"))
    assert session[Page].get("p") == Page("p")
    assert session[Page].all() == (Page("p"), Page("x"))
    session.stage(Page, [Upsert("p", Page("p", "2"))])
    assert session[Page].all() == (Page("p", "2"), Page("x"))
    assert session[Seen].all() == ()
    assert store.asked == ["Note", "Page", "Seen"]


def test_reload_asks_again() -> None:
    """Another process has committed."""
    store = Store(Note=[(None, '{"text":"1"}')])
    session = Session()
    session.load(store)
    assert session[Note].all() == (Note("1"),)
    store.rows[NAME + "Note"] = [(None, '{"text":"2"}')]
    session.reload()
    assert session[Note].all() == (Note("2"),)
    del store.rows[NAME + "Note"]
    session.reload()
    assert session[Note].all() == ()


def test_reload_keeps_logs_that_are_stored_nowhere() -> None:
    """Events of this process would otherwise vanish because another one committed."""
    session = Session()
    session.load(Store())
    session.publish(Seen("here"))
    session.reload()
    session.reload()
    assert session[Seen].all() == (Seen("here"),)
    session.publish(Seen("again"))
    assert session[Seen].all() == (Seen("here"), Seen("again"))


def test_reload_in_the_middle_of_a_call_moves_the_slice_under_it() -> None:
    """The call's events are reduced again over what is stored now."""
    store = Store(Note=[])
    session = Session()
    session.load(store)
    part = session.begin()
    token = part.enter()
    session.dispatch(Note("mine"))
    part.exit(token)
    store.rows[NAME + "Note"] = [(None, '{"text":"theirs"}')]
    session.reload()
    part.publish()
    assert session[Note].all() == (Note("theirs"), Note("mine"))


def test_reload_without_a_loader_changes_nothing() -> None:
    """A session in memory has nothing else to go by."""
    session = filled()
    before = state(session)
    session.reload()
    assert state(session) == before


def test_snapshot_knows_what_was_stored_when_a_slice_is_loaded_later() -> None:
    """A slice that nobody had asked for had not changed yet."""
    session = Session()
    session.load(Store(Note=[(None, '{"text":"stored"}')]))
    before = session.snapshot()
    session[Note].register(Note, replace_latest)
    session.dispatch(Note("new"))
    assert session[Note].all() == (Note("new"),)
    session.restore(before)
    assert session[Note].all() == (Note("stored"),)


def test_stored_row_that_does_not_fit_is_named() -> None:
    """The record belongs to an older program, or is damaged."""
    session = Session()
    session.load(Store(Note=[(None, '{"text":1}')]))
    with pytest.raises(SnapshotRestoreError, match=r"Note item 0: .*text"):
        session[Note].all()


def test_clone_loads_what_its_original_had_not_asked_for() -> None:
    """The copy has the same state, loaded or not."""
    session = Session()
    session.load(Store(Note=[(None, '{"text":"stored"}')]))
    assert session.clone()[Note].all() == (Note("stored"),)


def test_an_unreadable_log_keeps_nothing_from_being_said(caplog: pytest.LogCaptureFixture) -> None:
    """A call must not fail because of how an older program wrote down its calls."""
    session = Session(slice_config={Seen: SlicePolicy.LOG})
    session.load(Store(Seen=[(None, '{"who":1}')]))
    session.publish(Seen("here"))
    assert session[Seen].all() == (Seen("here"),)
    assert "the slice is empty from now on" in caplog.text


def test_what_calls_leave_in_the_session_survives_json() -> None:
    """Events of calls hold results, decisions and changes of files; JSON keeps the facts, not the content."""
    from wink.filesystem import Filesystem, InMemoryFilesystem
    from wink.prompt import MarkdownSection, Prompt, PromptTemplate, SequentialDependencyPolicy, Tool, ToolResult
    from wink.runtime import ToolCall, ToolExecutor, ToolInvoked

    def write(params: Note, *, context: object) -> ToolResult[Note]:
        context.filesystem.write("a.txt", params.text)  # type: ignore[attr-defined]
        return ToolResult.ok(params)

    tools = [
        Tool[Note, Note](name="write", description="Write.", handler=write),
        Tool[Note, Note](name="again", description="Write.", handler=write),
    ]
    policy = SequentialDependencyPolicy({"again": {"never"}})
    section = MarkdownSection("T", "x", tools=tools, policies=[policy])
    files = InMemoryFilesystem()
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section], resources={Filesystem: files}))
    session, other = Session(), Session()
    for one in session, other:
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=one), session=one)
        for name, arguments in (("write", {"text": "x"}), ("again", {"text": "y"}), ("write", "{"), ("nothing", {})):
            executor.execute(ToolCall(name, arguments))

    other.restore(Snapshot.from_json(session.snapshot().to_json()), preserve_logs=False)

    assert len(other[ToolInvoked]) == 4
    for was, now in zip(session[ToolInvoked], other[ToolInvoked], strict=True):
        assert (was.name, was.call_id, was.success, was.rendered_output) == (
            now.name,
            now.call_id,
            now.success,
            now.rendered_output,
        )
        assert (was.decisions, was.change, was.started_at, was.duration) == (
            now.decisions,
            now.change,
            now.started_at,
            now.duration,
        )
    assert other[Note].all() == session[Note].all()


def test_a_slice_that_became_a_log_later_stays_one() -> None:
    """Somebody had looked at it before anything was published; what was published then is not rolled back."""
    session = Session()
    assert session[Seen].all() == ()
    before = session.snapshot()
    session.publish(Seen("1"))
    session.restore(before)
    assert session[Seen].all() == (Seen("1"),)


def test_a_slice_that_was_not_looked_at_yet_is_no_unknown_type() -> None:
    """A call may go back to a snapshot, also where stored items wait for somebody to ask for them."""
    session = Session()
    session.restore(Snapshot.from_json(filled().snapshot().to_json()), preserve_logs=False)
    session[Page].register(Page, upsert_by(lambda page: page.path))
    before = session.snapshot()
    part = session.begin()
    token = part.enter()
    session[Note].clear()
    session.restore(before)
    part.exit(token)
    part.publish()
    assert state(session) == state(filled())
