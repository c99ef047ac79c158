"""Read what a script may read and write what it asked for, through the call's own files."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from wink.errors import FileTooLarge, HandleRevoked, NotText, PathRefused, ReadOnlyFilesystem, ToolValidationError
from wink_asteval._params import EvalFileRead, EvalFileWrite

if TYPE_CHECKING:
    from wink.filesystem import Filesystem

REMEDIES: Final[tuple[tuple[type[OSError], str], ...]] = (
    # first match wins      what the model is told of the path
    (FileNotFoundError,     "does not exist; check the path"),
    (IsADirectoryError,     "is a directory, not a file"),
    (NotADirectoryError,    "leads through something that is not a directory"),
    (FileExistsError,       "exists already; use the mode overwrite or append, or another path"),
    (PermissionError,       "may not be accessed; choose another path"),
)  # fmt: skip


def check_paths(files: Filesystem, reads: Sequence[EvalFileRead], writes: Sequence[EvalFileWrite]) -> None:
    """Refuse paths outside the workspace and paths named twice, before any time is spent."""
    for what, paths in (("reads", [one.path for one in reads]), ("writes", [one.path for one in writes])):
        seen: set[str] = set()
        for number, path in enumerate(paths):
            with told_to_model(path):
                name = files.normalize(path)
            if name in seen:
                raise ToolValidationError(f"{what}[{number}]: {path!r} is named twice; name each file once")
            seen.add(name)


def read_all(files: Filesystem, reads: Sequence[EvalFileRead], most: int) -> dict[str, str]:
    """The text of each file; reading it here is what makes it count as read."""
    texts: dict[str, str] = {}
    for one in reads:
        with told_to_model(one.path):
            most -= files.stat(one.path).size_bytes
            if most < 0:
                raise ToolValidationError(
                    f"{one.path!r} is too large to be read in one call; read fewer or smaller files"
                )
            try:
                texts[one.path] = files.read(one.path, encoding=one.encoding).content
            except LookupError:
                raise ToolValidationError(f"{one.path!r}: there is no encoding {one.encoding!r}; try utf-8") from None
    return texts


def write_all(files: Filesystem, writes: Sequence[EvalFileWrite], most: int, *, read_first: bool) -> None:
    """Write in order; what was written before a refusal is undone with the call."""
    for one in writes:
        with told_to_model(one.path):
            try:
                most -= len(one.content.encode())
            except UnicodeEncodeError as error:
                character = one.content[error.start]
                raise ToolValidationError(
                    f"{one.path!r} cannot be written: {character!a} has no UTF-8 encoding; leave it out"
                ) from None
            if most < 0:
                raise ToolValidationError(f"{one.path!r} would make this call write too much; write less per call")
            if read_first and one.mode == "overwrite":
                _demand_read(files, one.path)
            files.write(one.path, one.content, one.mode)


def _demand_read(files: Filesystem, path: str) -> None:
    if not files.exists(path) or files.stat(path).is_directory:
        return
    stamp = files.seen(path)
    if stamp is None or not stamp.digest:
        raise ToolValidationError(f"{path!r} exists and has not been read in this session; name it in reads")
    if stamp.digest != files.fingerprint(path):
        raise ToolValidationError(f"{path!r} changed since it was read; name it in reads")
    if not stamp.complete:
        raise ToolValidationError(f"{path!r} has been read only in part; name it in reads")


@contextmanager
def told_to_model(path: str) -> Generator[None, None, None]:
    """Errors of the filesystem as failures that say what to do, with nothing of the host in them."""
    try:
        yield
    except HandleRevoked:
        raise  # the call is over: there is nobody to tell
    except (PathRefused, ReadOnlyFilesystem, FileTooLarge) as error:
        raise ToolValidationError(str(error)) from error
    except NotText as error:
        raise ToolValidationError(f"{path!r} is not text in {error.encoding} ({error.size} bytes)") from error
    except OSError as error:
        remedy = next((words for kind, words in REMEDIES if isinstance(error, kind)), None)
        raise ToolValidationError(
            f"{path!r} {remedy}" if remedy else f"{path!r} cannot be used: {error.strerror or type(error).__name__}"
        ) from error
