"""Write a session into one file, and read such a file, of which nothing is believed before it has been checked.

A bundle is a ZIP archive with a fixed set of names, each of which is listed in `manifest.json` with its size and SHA-256.
Nothing is ever unpacked to a name that the archive gives.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import IO, Any, Final, TypeVar

from wink.dataclass import dataclass
from wink.errors import ParseError, SessionNameError
from wink.record import microseconds
from wink.workspace import session_name
from wink_bundles._chain import check_links
from wink_bundles._errors import BundleRefused
from wink_bundles._rows import FORMAT, Call, Event, Exported, LeftOut, Link, Manifest, Member, Run, Slice

CALLS, EVENTS, RUNS, SLICES = ROWS = ("calls.jsonl", "events.jsonl", "runs.jsonl", "slices.jsonl")
CHAIN: Final = "chain.jsonl"
HISTORY: Final = "history.bundle"
_MANIFEST: Final = "manifest.json"
_NAMES: Final = frozenset({*ROWS, CHAIN, HISTORY, _MANIFEST})

LARGEST: Final = 512 << 20
"""So many bytes may a bundle have when it is unpacked."""
_MANIFEST_BYTES: Final = 4 << 20
_MOST_ROWS: Final = 1_000_000
_STARTS: Final = (b"# v2 git bundle\n", b"# v3 git bundle\n")
_LAST_NUMBER: Final = 1 << 53

_DIGEST: Final = re.compile("[0-9a-f]{64}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was read: what the file says of itself, the session, and its git history."""

    manifest: Manifest
    session: Exported
    history: bytes | None


def write_bundle(
    file: IO[bytes], session: Exported, history: bytes | None, left_out: Sequence[LeftOut], now: datetime
) -> None:
    """Write a bundle."""
    from wink import __version__
    from wink.serde import dumps

    rows: dict[str, Sequence[object]] = {
        CALLS: session.calls,
        EVENTS: session.events,
        RUNS: session.runs,
        SLICES: session.slices,
        **({CHAIN: session.chain} if session.chain else {}),
    }
    members = {name: "".join(f"{dumps(row)}\n" for row in given).encode() for name, given in rows.items()}
    if history is not None:
        members[HISTORY] = history
    listed = {name: Member(len(data), hashlib.sha256(data).hexdigest()) for name, data in members.items()}
    manifest = Manifest(
        format=FORMAT,
        wink=__version__,
        session=session.session,
        session_id=session.session_id,
        created_at=session.created_at,
        exported_at=microseconds(now),
        calls=len(session.calls),
        files=listed,
        left_out=tuple(left_out),
    )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {_MANIFEST: dumps(manifest).encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def read_bundle(path: str) -> Bundle:
    """Read a bundle whole, and check everything in it; raises `BundleRefused`, with nothing written anywhere."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                raise BundleRefused(path, f"it is larger than {LARGEST >> 20} MiB")
            return _read(path, io.BytesIO(file.read(LARGEST + 1)))
    except BundleRefused:
        raise
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, RecursionError, KeyError) as error:
        raise BundleRefused(path, f"it is damaged, or no bundle ({str(error) or type(error).__name__})") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise BundleRefused(path, error.strerror or str(error)) from error
        # zlib and its like have exceptions of their own
        raise BundleRefused(path, f"it is damaged ({str(error) or type(error).__name__})") from error


def _read(path: str, file: IO[bytes]) -> Bundle:
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        odd = next((name for name in names if name not in _NAMES), None)
        if odd is not None:
            raise BundleRefused(path, f"there is {odd!r} in it, which no bundle has")
        if len(set(names)) != len(names) or _MANIFEST not in names:
            raise BundleRefused(path, "its names are not those of a bundle, each once")
        if sum(info.file_size for info in infos) > LARGEST:
            raise BundleRefused(path, f"it says that it has more than {LARGEST >> 20} MiB")
        manifest = _manifest(path, _member(path, archive, _MANIFEST, _MANIFEST_BYTES))
        if set(manifest.files) != set(names) - {_MANIFEST} or not set(ROWS) <= set(names):
            raise BundleRefused(path, "it has not the files that it lists")
        data = {name: _checked(path, archive, name, member) for name, member in manifest.files.items()}
    history = data.get(HISTORY)
    if history is not None and not history.startswith(_STARTS):
        raise BundleRefused(path, "its history is no git bundle")
    session = Exported(
        manifest.session,
        manifest.session_id,
        manifest.created_at,
        tuple(_rows(path, CALLS, data[CALLS], Call)),
        tuple(_rows(path, EVENTS, data[EVENTS], Event)),
        tuple(_rows(path, RUNS, data[RUNS], Run)),
        tuple(_rows(path, SLICES, data[SLICES], Slice)),
        tuple(_rows(path, CHAIN, data.get(CHAIN, b""), Link)),
    )
    _check(path, manifest, session)
    return Bundle(manifest, session, history)


def _member(path: str, archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    info = archive.getinfo(name)
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BundleRefused(path, f"{name} is encrypted, or packed in an unusual way")
    with archive.open(info) as stream:
        data = stream.read(most + 1)  # whatever the archive says of its size
    if len(data) > most:
        raise BundleRefused(path, f"{name} is larger than it may be")
    return data


def _checked(path: str, archive: zipfile.ZipFile, name: str, member: Member) -> bytes:
    if not 0 <= member.bytes <= LARGEST:
        raise BundleRefused(path, f"{name} cannot have {member.bytes} bytes")
    data = _member(path, archive, name, member.bytes)
    if len(data) != member.bytes or hashlib.sha256(data).hexdigest() != member.sha256:
        raise BundleRefused(path, f"{name} is not what it was when the bundle was written")
    return data


def _manifest(path: str, data: bytes) -> Manifest:
    import json

    from wink.serde import parse

    found: Any = json.loads(data)
    version = found.get("format") if isinstance(found, dict) else None  # type: ignore[reportUnknownMemberType]
    if isinstance(version, int) and version > FORMAT:
        raise BundleRefused(path, f"it has format {version}, and this wink reads {FORMAT}; upgrade wink")
    try:
        manifest = parse(Manifest, data, extra="forbid")
        session_name(manifest.session)
    except (ParseError, SessionNameError) as error:
        raise BundleRefused(path, f"its manifest is not one: {error}") from error
    if not 1 <= manifest.format <= FORMAT:
        raise BundleRefused(path, f"it has format {manifest.format}, which never was")
    return manifest


def _rows(path: str, name: str, data: bytes, kind: type[T]) -> list[T]:
    from wink.serde import parse

    lines = data.split(b"\n")
    if lines.pop() or len(lines) > _MOST_ROWS:
        raise BundleRefused(path, f"{name} does not end with its last line, or has too many of them")
    found: list[T] = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(parse(kind, line, extra="forbid"))
        except ParseError as error:
            raise BundleRefused(path, f"{name}, line {number}: {error}") from error
    return found


def _check(path: str, manifest: Manifest, session: Exported) -> None:
    """What a record relies on: numbers that rise, and paths that lead nowhere."""
    if manifest.calls != len(session.calls):
        raise BundleRefused(path, "it has not as many calls as it says")
    times = (
        manifest.created_at,
        *(call.started_at for call in session.calls),
        *(run.started_at for run in session.runs),
    )
    times = (*times, *(event.at for event in session.events), *(run.changed_at for run in session.runs))
    times = (*times, *(one.at for run in session.runs for one in (*run.prompts, *run.said)))
    if not all(0 <= time < 1 << 57 for time in times):
        raise BundleRefused(path, "it tells of a time that cannot be")
    series = {
        "calls": [call.number for call in session.calls],
        "events": [event.number for event in session.events],
        "runs": [run.number for run in session.runs],
        **{f"prompts of r{run.number}": [prompt.number for prompt in run.prompts] for run in session.runs},
        **{f"turns of r{run.number}": [turn.number for turn in run.said] for run in session.runs},
    }
    for what, numbers in series.items():
        if any(not 0 < number < _LAST_NUMBER for number in numbers) or numbers != sorted(set(numbers)):
            raise BundleRefused(path, f"the numbers of its {what} do not rise")
    transactions = [call.transaction for call in session.calls]
    if transactions != sorted(transactions) or any(not 0 < number < _LAST_NUMBER for number in transactions):
        raise BundleRefused(path, "the transactions of its calls do not rise")
    if len({one.type for one in session.slices}) != len(session.slices):
        raise BundleRefused(path, "it has a slice twice")
    for one in session.slices:
        keys = [key for key, _ in one.items if key is not None]
        if len(set(keys)) != len(keys):
            raise BundleRefused(path, f"its slice {one.type!r} has a key twice")
    if any(abs(number) >= _LAST_NUMBER for number in _numbers(session)):
        raise BundleRefused(path, "there is a number in it that cannot be")
    if any(number < 0 for run in session.runs for number in _counts(run)):
        raise BundleRefused(path, "it counts less than nothing")
    for call in session.calls:
        for change in call.changes:
            for name in (change.path, change.moved_from):
                if name is not None and not _is_inside(name):
                    raise BundleRefused(path, f"call c{call.number} names {name!r}, which is no path in a workspace")
            for side in (change.before, change.after):
                if side is not None and side.digest is not None and not _DIGEST.fullmatch(side.digest):
                    raise BundleRefused(path, f"call c{call.number} gives {side.digest!r} as a SHA-256")
    problem = check_links(session)
    if problem is not None:
        raise BundleRefused(path, f"it is not what wink's record said: {problem}")


def _numbers(session: Exported) -> Iterator[int]:
    """All numbers of which only the size matters."""
    for call in session.calls:
        yield from (call.duration, call.approval, *call.takes_back)
        for change in call.changes:
            for side in (change.before, change.after):
                if side is not None:
                    yield from (side.size, side.mode)
    for event in session.events:
        yield from (event.position, event.run)
    for run in session.runs:
        yield from (run.attempt, *_counts(run), *(one.position for one in (*run.prompts, *run.said)))


def _counts(run: Run) -> Iterator[int]:
    for one in (run, *run.said):
        yield from (one.input_tokens, one.output_tokens, one.cached_tokens)
    yield run.turns


def _is_inside(name: str) -> bool:
    """Whether it leads to something in a workspace; it may be a name that only programs make, in any bytes."""
    return "\0" not in name and all(part not in ("", ".", "..") for part in name.split("/"))
