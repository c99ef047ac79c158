"""The first tutorial, word for word: whoever follows it sees what it shows."""

from pathlib import Path

from tests.docs.console import Reader, fits, steps

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorial/first-steps.md"


def test_the_first_steps_can_be_followed(tmp_path: Path) -> None:
    """A first page that does not work is the last one that a newcomer reads."""
    home, place = tmp_path / "home", tmp_path / "place"
    home.mkdir()
    place.mkdir()
    reader = Reader(home, place)
    done = 0
    for step in steps(PAGE.read_text(encoding="utf-8")):
        if "pip install" in step.command:
            continue  # wink is what is being tested
        printed = reader.do(step)
        assert fits(step.printed, printed), f"$ {step.command}\nshown:\n{step.printed}\nprinted:\n{printed}"
        done += 1
    assert done > 12
