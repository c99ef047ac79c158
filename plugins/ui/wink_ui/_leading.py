"""Lead a browser to the page, without the page's address in its command line."""

from __future__ import annotations

import html
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from wink.errors import WinkError
from wink.state import key_problem, opened_directory, replace_file, user_directory

_LEADING: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>wink</title><p><a href="{url}">Open the page</a></p></html>\n'
)


@contextmanager
def leading_to(url: str) -> Generator[str]:
    """The address of a file that only this user can read, and that leads a browser to a page.

    The command line of a browser is for every user of the machine to read, so the page's own address, which has its token,
    must not stand there.
    """
    above = user_directory()
    problem = key_problem()  # which makes that directory, and tells whether others may write there
    if above is None or problem is not None:
        raise WinkError(problem or "there is no directory of yours for it")
    directory = os.path.join(os.path.realpath(above), "pages")
    name = f"{os.getpid()}.html"
    with opened_directory(directory, make=True) as fd:
        replace_file(fd, name, _LEADING.format(url=html.escape(url)).encode())
        try:
            yield Path(directory, name).as_uri()
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)
