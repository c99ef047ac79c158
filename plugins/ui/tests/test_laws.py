"""The same laws hold when a person takes things back on the page: every act goes through its address and its preview."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from plugins.ui.tests.conftest import HERE, TOKEN, Visitor, seal_of, text_of
from starlette.testclient import TestClient
from tests.workspace.laws import Done, Hands, Machine

from wink.errors import NothingToUndo, NothingTried, TryConflict, UndoConflict
from wink_ui._app import Page, page_app


class OnThePage:
    """Looks at each preview, and confirms it."""

    def __init__(self, root: Path) -> None:
        self.page = Page(str(root))
        client = TestClient(page_app(self.page, TOKEN), base_url=HERE)
        assert client.get(f"/?token={TOKEN}").status_code == 200
        self.visitor = Visitor(client)

    def undo_one(self, number: int) -> Done:
        return self.take_back("undo", call=str(number))

    def undo_last(self, n: int) -> Done:
        return self.take_back("undo", n=str(n))

    def redo(self) -> Done:
        return self.take_back("redo")

    def restore(self, checkpoint: str) -> Done:
        return self.take_back("restore", checkpoint=checkpoint)

    def accept(self, name: str, paths: tuple[str, ...]) -> int | None:
        return self.settle("accept", name, paths)

    def drop(self, name: str) -> None:
        self.settle("drop", name, ())

    def close(self) -> None:
        self.page.close()

    def take_back(self, verb: str, **fields: str) -> Done:
        shown = self.visitor.post(f"/do/{verb}", **fields)
        told = text_of(shown.text)
        if shown.status_code == 422:
            raise NothingToUndo(told)
        if shown.status_code == 409:
            raise UndoConflict([(told, "is in the way")])
        assert shown.status_code == 200, told
        number = self.confirm(verb, shown.text, **fields)
        assert number is not None
        (calls,) = re.findall(r"Takes back ((?:c\d+(?:, )?)+)", told)
        return number, tuple(int(call) for call in re.findall(r"\d+", calls))

    def settle(self, verb: str, name: str, paths: tuple[str, ...]) -> int | None:
        chosen: dict[str, str | list[str]] = {"scope": "chosen", "path": list(paths)} if paths else {}
        shown = self.visitor.post(f"/do/{verb}", **{"try": name}, **chosen)
        if shown.status_code == 422:
            raise NothingTried(",".join(paths), name)
        if shown.status_code == 409:
            raise TryConflict(name, [text_of(shown.text)])
        assert shown.status_code == 200, text_of(shown.text)
        return self.confirm(verb, shown.text, **{"try": name}, **chosen)

    def confirm(self, verb: str, shown: str, **fields: str | list[str]) -> int | None:
        """Nothing has moved since it was shown, so it is done; the number of the call, where there is one."""
        done = self.visitor.post(f"/do/{verb}", **fields, seal=seal_of(shown))
        assert done.status_code == 303, text_of(done.text)
        found = re.match(r"/calls/(\d+)\?", done.headers["location"])
        return None if found is None else int(found[1])


class OnThePageMachine(Machine):
    """A workspace whose person sits before the page."""

    def hands_on(self, root: Path) -> Hands:
        return OnThePage(root)


def test_files_end_as_the_model_says_when_the_page_is_used() -> None:
    """The page promises nothing of its own, and takes nothing away from what the workspace promises."""
    run_state_machine_as_test(
        OnThePageMachine,
        settings=settings(
            max_examples=8, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
