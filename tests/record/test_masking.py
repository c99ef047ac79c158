"""No secret is stored or shown, nothing else is touched, and whoever needs one to go on still has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.states import state_of

from wink.adapters import Exchange, ModelTurn, RecordJournal, RunState, told
from wink.errors import MaskPatternError, RunStateError
from wink.filesystem import FileChange, FileVersion
from wink.limits import TokenUsage
from wink.record import MASK, ApprovalRow, Masking, Record
from wink.runtime import ToolCall
from wink.session import SliceDelta
from wink.transactions import CommitEntry
from wink.workspace import Workspace

MakeEntry = Callable[..., CommitEntry]

KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
SECRETS = {
    # what is planted          the part that must never be seen again
    "sk-proj-Zq3vT9xLm2Rk8wYb": "Zq3vT9xLm2Rk8wYb",
    "sk-ant-api03-Kq9sJw2LxPzR7": "Kq9sJw2LxPzR7",
    "ghp_16C7e42F292c6912E7710c": "16C7e42F292c6912",
    "github_pat_11ABCDEFG0123456789_x": "11ABCDEFG0123456789",
    "glpat-Ab3dEf6hIj9lMn2pQr5t": "Ab3dEf6hIj9l",
    "AKIAIOSFODNN7EXAMPLE": "IOSFODNN7EXAMPLE",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY": "9tSrke72PouQMnMX",
    "xoxb-2345678901-AbCdEfGh": "2345678901-AbCd",
    "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc": "4eC39HqLyjWDarjt",
    "npm_Ab3dEf6hIj9lMn2pQr5tUv8xYz1": "Ab3dEf6hIj9lMn2p",
    "hf_Ab3dEf6hIj9lMn2pQr5tUv8x": "Ab3dEf6hIj9lMn2p",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27u": "dBjftJeZ4CVPmB92K27u",
    "Authorization: Bearer q8Zt.v2-Lw7": "q8Zt.v2-Lw7",
    "Authorization: Basic dXNlcjpodW50ZXIy": "dXNlcjpodW50ZXIy",
    "Authorization: q8ZtWv2Lw7Kj3": "q8ZtWv2Lw7Kj3",
    "Cookie: session=q8ZtWv2Lw7": "q8ZtWv2Lw7",
    "X-Api-Key: q8ZtWv2Lw7": "q8ZtWv2Lw7",
    "postgres://app:q8ZtWv2Lw7@db.example/x": "q8ZtWv2Lw7",
    "https://x.example/?a=1&access_token=q8ZtWv2Lw7": "q8ZtWv2Lw7",
    "export ACME_TOKEN=q8ZtWv2Lw7": "q8ZtWv2Lw7",
    'db_password = "q8ZtWv2 Lw7"': "q8ZtWv2 Lw7",
    "password: q8ZtWv2Lw7\n": "q8ZtWv2Lw7",
    "deploy --api-key q8ZtWv2Lw7": "q8ZtWv2Lw7",
    f"-----BEGIN PRIVATE KEY-----\n{KEY}\n{KEY[::-1]}\n-----END PRIVATE KEY-----": KEY,
    f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n": KEY,
    "the horse is correct, battery/staple ü": "battery/staple ü",
    "acme-7f3a9b21": "acme-7f3a9b21",
}
RULES = Masking(patterns=["acme-[0-9a-f]{8}"], names=["pin"], values=["battery/staple ü"])

PLAIN = (
    "docs/task-list-of-everything-there-is.md and a risk-management-system-for-all",
    "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "123e4567-e89b-12d3-a456-426614174000",
    "def login(password: str, token: str | None = None) -> None: ...",
    "client = Client(api_key=os.environ['KEY'], token=self.token)",
    "https://example.org:8443/path?page=2&sort=key",
    "ssh://git@github.com/acme/app.git and user@example.org",
    "max_tokens = 4096; next_token(); the secret of good soup: patience",
    "export API_KEY=$OTHER_KEY",
    "Password: ",
)


@pytest.mark.parametrize("planted", SECRETS)
def test_secrets_are_found_wherever_they_stand(planted: str) -> None:
    """In a line of their own, in a sentence, quoted, in JSON, and in JSON that is text in JSON."""
    part = SECRETS[planted]
    for text in (planted, f"so {planted} it is", f"a\n{planted}\nb", f"x='{planted}'", f"({planted})"):
        assert part not in RULES.text(text), text
        assert RULES.text(RULES.text(text)) == RULES.text(text)
        assert part not in RULES.text(json.dumps(text)) or "\\u" in json.dumps(part)
        once = RULES.json(json.dumps({"said": text}))
        twice = RULES.json(json.dumps({"inner": json.dumps({"said": text})}))
        assert part not in json.loads(once)["said"]
        assert part not in json.loads(twice)["inner"]
        assert json.dumps(part)[1:-1] not in twice


@given(
    st.lists(st.sampled_from([*SECRETS, *SECRETS.values(), *PLAIN, "\n", "'", '"', "\\", ": ", "=", "x"]), max_size=6),
    st.integers(0, 60),
)
def test_the_first_search_finds_whatever_the_others_would(pieces: list[str], cut: int) -> None:
    """Nothing is looked at closely that it passes."""
    text = "".join(pieces)[cut:]

    assert RULES.finds(text) or RULES._masked(text) == text


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    """A log in which nothing can be read helps nobody."""
    assert RULES.text(text) == text


def test_fields_are_masked_by_their_names() -> None:
    """Whatever they hold, with any case and punctuation; counters and positions are no secrets."""
    row = {"db-Password": "x", "apiKey": ["a", {"b": "c"}], "PIN": 1234, "auth": {"user": "u"}, "secret": ""}
    kept = {"max_tokens": 5, "token": 7, "tokens": ["a"], "is_secret": True, "password": None, "path": "a.txt"}

    found = json.loads(RULES.json(json.dumps(row | kept)))

    assert found == {
        "db-Password": MASK,
        "apiKey": [MASK, {"b": MASK}],
        "PIN": MASK,
        "auth": {"user": MASK},
        "secret": "",
        **kept,
    }


@given(st.text())
def test_masking_what_is_masked_changes_nothing(text: str) -> None:
    """What is shown has often been masked before it was stored."""
    assert RULES.text(RULES.text(text)) == RULES.text(text)
    as_json = json.dumps({"a": text, "password": text})
    assert RULES.json(RULES.json(as_json)) == RULES.json(as_json)


@pytest.mark.parametrize("pattern", ["(", "", "x*", "(?=a)", r"(a)\1", "a" * 2000, "((a{1,900}){1,900}){1,900}"])
def test_patterns_that_cannot_be_used_are_refused(pattern: str) -> None:
    """With what is wrong with them, before anything relies on them."""
    with pytest.raises(MaskPatternError, match="RE2"):
        Masking(patterns=[pattern])


def test_no_text_takes_time_that_is_not_linear() -> None:
    """A tool's output may be made to hang whoever looks for secrets in it."""
    rules = Masking(patterns=["(a+)+$", "(x|xx)+y"])
    for text in ("a" * 200_000 + "!", "x" * 200_000, "-----BEGIN PRIVATE KEY-----" * 8_000, "password=" * 20_000):
        assert len(rules.text(text)) <= len(text) + 10  # what tries every way would take for ever


@dataclass(frozen=True, slots=True)
class Finding:
    """What a tool may return."""

    text: str
    password: str = "none"


@dataclass(frozen=True, slots=True)
class Strict:
    """A value that is not what it was without its secret."""

    key: str

    def __post_init__(self) -> None:
        if not self.key.startswith("sk-"):
            raise ValueError("a key begins with sk-")


def scan(state: Path, part: str) -> list[str]:
    """Where in the record, its log and the spilled results some bytes are."""
    forms = {part.encode(), json.dumps(part)[1:-1].encode(), json.dumps(json.dumps(part)[1:-1])[1:-1].encode()}
    paths = [path for path in state.rglob("*") if path.is_file() and "held" not in path.parts]
    return [path.name for path in paths if any(form in path.read_bytes() for form in forms)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    planted=st.sampled_from(sorted(SECRETS)),
    before=st.text(max_size=20).map(lambda text: text + " "),
    place=st.sampled_from(
        [
            "arguments",
            "tool",
            "rendered",
            "error",
            "reason",
            "slice",
            "keyed",
            "replaced",
            "attempt",
            "started",
            "result",
            "plan",
            "turn",
            "replies",
            "prompt",
            "problem",
            "approval",
            "answer",
            "log",
        ]
    ),
)
def test_no_secret_is_in_the_record(
    tmp_path_factory: pytest.TempPathFactory, entry: MakeEntry, planted: str, before: str, place: str
) -> None:
    """Wherever it was planted, none of the bytes on the disk tell it, the log of SQLite included."""
    state = tmp_path_factory.mktemp("state")
    record = Record(str(state), masking=RULES)
    text = (before + planted).encode("utf-8", "replace").decode()
    deltas = {
        "slice": SliceDelta("tests:Finding", "extend", (Finding(text, text),), None, "state"),
        "keyed": SliceDelta("tests:Finding", "upsert", (Finding(text),), ("k",), "state"),
        "replaced": SliceDelta("tests:Finding", "replace", (Finding(text),), None, "state", is_latest=True),
        "log": SliceDelta("tests:Finding", "extend", (Finding(text),), None, "log"),
    }
    quoted = json.dumps({"said": text, "more": [text]})
    run = record.runs.begin("default", quoted if place == "plan" else "{}")
    asked = record.approvals.ask(
        ApprovalRow(0, "default", "r1", "c", "t", "workspace", quoted, json.dumps([["p", text]]), "{}", "f")
        if place == "approval"
        else ApprovalRow(0, "default", "r1", "c", "t", "workspace", "{}", "[]", "{}", "f")
    )
    change = FileChange("a.txt", None, FileVersion("file", 5, 0o644, load=lambda: text.encode()))
    match place:
        case "arguments":
            record.commit(entry(arguments=quoted))
        case "rendered":
            record.commit(entry(rendered=text))
        case "tool":
            record.attempt(entry(tool=text, outcome="refused"))
        case "reason":
            record.commit(entry(decisions=(("p", False, text, False),)))
        case "error":
            record.attempt(entry(error=text, outcome="rolled back"))
        case "attempt":
            record.attempt(entry(rendered=text, changes=(change,), outcome="rolled back"))
        case "started":
            record.start(entry(arguments=quoted, effects="external"))
        case "result":
            record.keep_result("abcd", text)
        case "turn":
            record.runs.turned(run, 1, quoted, TokenUsage())
        case "replies":
            record.runs.turned(run, 1, "{}")
            record.runs.replied(run, 1, quoted)
        case "prompt":
            record.runs.prompted(run, "p", text, [])
        case "problem":
            record.runs.set(run, "stopped", text)
        case "answer":
            assert record.approvals.answer(asked, approved=True, note=text, edited=quoted, edited_facts=quoted)
        case _:
            if place in deltas:
                record.commit(entry(deltas=(deltas[place],)))
                record.commit(entry(deltas=(deltas[place],)))

    assert scan(state, SECRETS[planted]) == []
    events = json.dumps([repr(one) for one in record.queries.stream()], ensure_ascii=False)
    assert SECRETS[planted] not in events
    record.close()
    assert scan(state, SECRETS[planted]) == []


def test_state_stays_readable_and_undo_works(record: Record, entry: MakeEntry) -> None:
    """An item without its secret is still an item; what cannot be one without it stays in the session as it is."""
    secret = "sk-proj-Zq3vT9xLm2Rk8wYb"
    delta = SliceDelta("tests:Finding", "replace", (Finding(secret, "hunter22"),), None, "state", is_latest=True)
    record.commit(entry(deltas=(delta,), transaction_id="first"))
    record.commit(entry(deltas=(SliceDelta("tests:Strict", "extend", (Strict(secret),), None, "state"),)))
    assert record.loader("default")("tests:Finding") == ((None, f'{{"text": "{MASK}", "password": "{MASK}"}}'),)
    assert record.loader("default")("tests:Strict") == ((None, json.dumps({"key": secret}, separators=(",", ":"))),)

    record.revert(entry(tool="undo"), record.past()[:1])

    assert record.loader("default")("tests:Finding") == ()


def test_a_run_is_resumed_with_exactly_what_was_said(tmp_path: Path) -> None:
    """A call of the turn that was not answered is executed as the model made it; when the run has ended, it is gone."""
    secret = "sk-proj-Zq3vT9xLm2Rk8wYb"
    turn = ModelTurn("use it", (ToolCall("deploy", {"key": secret}, "c1"),))
    with Workspace.open(tmp_path) as workspace:
        with RecordJournal.begin(workspace, plan={"task": f"deploy with {secret}"}) as journal:
            journal.turned(1, turn)
            journal.stopped("the network failed")
        assert scan(tmp_path, secret) == []
        assert secret not in workspace.record.runs.rows()[0].plan
        with RecordJournal.resume(workspace, "r1") as journal:
            assert journal.plan == {"task": f"deploy with {secret}"}
            assert journal.state is not None
            assert journal.state.turn == turn
            journal.turned(1, turn)
            journal.replied(1, (told(turn.calls[0], f"used {secret}", success=True),), "go on")
            journal.stopped("again")
        with RecordJournal.resume(workspace, "r1") as journal:
            assert journal.state is not None
            assert journal.state.exchanges[0].turn == turn
            journal.ended("done")
        assert list((state_of(tmp_path) / "held").iterdir()) == []


def test_a_run_whose_exact_words_are_gone_cannot_be_resumed(tmp_path: Path) -> None:
    """It must not be resumed with `[masked]` where there was a key."""
    with Workspace.open(tmp_path) as workspace:
        with RecordJournal.begin(workspace, plan={"password": "hunter22"}) as journal:
            journal.stopped("no network")
        for path in (state_of(tmp_path) / "held").iterdir():
            path.unlink()
        with pytest.raises(RunStateError, match="masked"):
            RecordJournal.resume(workspace, "r1")


def test_an_approval_stands_for_exactly_the_call_that_was_asked_about(record: Record, state: Path) -> None:
    """Requests are compared by what they were, not by what the record shows of them."""
    arguments = json.dumps({"key": "sk-proj-Zq3vT9xLm2Rk8wYb"})
    row = ApprovalRow(0, "s", "", "c", "deploy", "workspace", arguments, "[]", "{}", "f")

    asked = record.approvals.ask(row)
    edited = json.dumps({"key": "sk-proj-Zq3vT9xLm2Rk8wYc"})
    assert record.approvals.answer(asked, approved=True, note="", edited=edited, edited_facts=None)
    assert record.approvals.renew(asked, '{"named":{"sk-proj-Zq3vT9xLm2Rk8wYb":null}}', "g")

    found = record.approvals.find(1)
    assert found is not None
    assert json.loads(found.facts) == {"named": {"sk-proj-Zq3vT9xLm2Rk8wYb": None}}
    assert (asked.arguments, found.arguments, found.edited) == (arguments, arguments, edited)
    assert scan(state, "Zq3vT9xLm2Rk8wY") == []


def test_what_a_person_put_in_the_place_of_arguments_is_never_used_masked(record: Record, state: Path) -> None:
    """Where it is gone, the answer is to nothing that any policy asks; words that only look masked stay what they are."""
    for number, text in enumerate(("sk-proj-Zq3vT9xLm2Rk8wYc", MASK), 1):
        row = ApprovalRow(0, "s", "", "c", "deploy", "workspace", '{"key": "k"}', '[["p","r"]]', "{}", f"f{number}")
        edited = json.dumps({"key": text})
        assert record.approvals.answer(
            record.approvals.ask(row), approved=True, note="", edited=edited, edited_facts=None
        )
        found = record.approvals.find(number)
        assert found is not None
        assert (found.edited, found.policies) == (edited, row.policies)

    (state / "held" / "approval-1").unlink()

    found = record.approvals.find(1)
    assert found is not None
    assert found.policies != '[["p","r"]]'


def test_turns_are_shown_masked_and_said_exactly(record: Record) -> None:
    """Whoever lists a run's turns is no model."""
    number = record.runs.begin("default", "{}")
    text = RunState("p", (Exchange(ModelTurn("password = 'hunter22'"), (), ""),)).to_json()
    record.runs.turned(number, 1, text)

    assert "hunter22" not in record.runs.turns(number)[0].turn
    assert json.loads(record.runs.turns(number)[0].turn)["format"] == 1
    assert record.runs.turns(number, exact=True)[0].turn == text


@pytest.mark.parametrize(
    ("written", "secret"),
    [
        (r'{"k": "gh\u0070_16C7e42F292c6912E7710c"}', "16C7e42F292c6912"),
        (r'{"pass\u0077ord": "hunter22x"}', "hunter22x"),
        (r'{"u": "https:\/\/me:hunter22x@host"}', "hunter22x"),
        (json.dumps({"contraseña": "hunter22x"}), "hunter22x"),
        (json.dumps({"CONTRASEÑA": "hunter22x"}), "hunter22x"),
        (json.dumps({"a": "with clé-12345"}), "12345"),
        (json.dumps({"calls": [{"arguments": r'{"k": "gh\u0070_16C7e42F292c6912E7710c"}'}]}), "16C7e42F292c6912"),
    ],
)
def test_a_secret_is_found_however_json_spells_it(written: str, secret: str) -> None:
    """A model may escape any character, and JSON escapes all but ASCII: names and patterns of other languages, too."""
    rules = Masking(names=["contraseña"], patterns=["clé-[0-9]+"])

    found = rules.json(written)

    assert secret not in found
    assert MASK in found
    assert rules.json(found) == found


def test_a_call_is_masked_however_its_arguments_are_spelt(state: Path, entry: MakeEntry) -> None:
    """The record asks once for all that it stores, before it looks closely at anything."""
    record = Record(str(state), masking=Masking(names=["contraseña"]))
    try:
        record.commit(entry(arguments=json.dumps({"contraseña": "hunter22x"})))
        assert json.loads(record.calls()[0].arguments) == {"contraseña": MASK}
        assert scan(state, "hunter22x") == []
    finally:
        record.close()
