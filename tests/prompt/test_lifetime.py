"""When sections prepare a session, and when they let go."""

from dataclasses import dataclass
from typing import Any

import pytest

from wink.prompt import Prompt, PromptTemplate, Section
from wink.session import Append, Session, SliceView


@dataclass(frozen=True)
class Added:
    text: str


@dataclass(frozen=True)
class Note:
    text: str


def add(notes: SliceView[Note], event: Added) -> Append[Note]:
    return Append(Note(event.text))


class Notes(Section[Any]):
    """A section with a slice, which counts how often it is prepared."""

    installed = 0
    log: list[str]

    def install(self, session: Session) -> None:
        self.installed += 1
        session[Note].register(Added, add)

    def cleanup(self) -> None:
        self.log.append(self.key)


def prompt_of(*sections: Section[Any]) -> Prompt:
    return Prompt(PromptTemplate("ns", "key", sections=sections))


def test_a_session_is_prepared_once_before_its_first_rendering() -> None:
    """Twice would let every event count twice."""
    section, session = Notes("Notes"), Session()
    prompt = prompt_of(section)

    prompt.render(session=session)
    prompt.render(session=session)
    session.dispatch(Added("x"))

    assert section.installed == 1
    assert session[Note].all() == (Note("x"),)


def test_every_session_is_prepared() -> None:
    """A template serves many of them."""
    section = Notes("Notes")
    prompt = prompt_of(section)

    prompt.render(session=Session())
    prompt.render(session=Session())

    assert section.installed == 2


def test_no_session_no_preparation() -> None:
    """Listing tools for a person changes nothing."""
    section = Notes("Notes")

    prompt_of(section).render()

    assert section.installed == 0


def test_a_section_in_two_templates_prepares_a_session_once() -> None:
    """It is the section that is installed, not the template."""
    section, session = Notes("Notes"), Session()

    prompt_of(section).render(session=session)
    prompt_of(section, Section("More")).render(session=session)

    assert section.installed == 1


def test_a_disabled_section_prepares_the_session_all_the_same() -> None:
    """`enabled` may ask for the very state that the section installs."""
    section = Notes("Notes", enabled=lambda *, session: session[Note].latest() is not None)
    session = Session()
    prompt = prompt_of(section)

    assert prompt.render(session=session).text == ""
    session.dispatch(Added("x"))
    assert prompt.render(session=session).text == "## 1. Notes"


def test_a_preparation_that_failed_is_tried_again() -> None:
    """Half a preparation would show as missing state much later."""

    class Unlucky(Notes):
        def install(self, session: Session) -> None:
            super().install(session)
            if self.installed == 1:
                raise RuntimeError("not yet")

    section, session = Unlucky("Notes"), Session()
    prompt = prompt_of(section)

    with pytest.raises(RuntimeError, match="not yet"):
        prompt.render(session=session)
    prompt.render(session=session)

    assert section.installed == 2


def test_a_clone_of_a_session_counts_events_once() -> None:
    """It has the reducers of its original already, and registering the same ones again changes nothing."""
    section, session = Notes("Notes"), Session()
    prompt = prompt_of(section)
    prompt.render(session=session)

    copy = session.clone()
    prompt.render(session=copy)
    copy.dispatch(Added("x"))

    assert copy[Note].all() == (Note("x"),)
    assert session[Note].all() == ()


def test_a_cloned_section_prepares_for_itself() -> None:
    """A clone is a section of its own."""
    section, session = Notes("Notes"), Session()
    prompt_of(section).render(session=session)

    twin = section.clone()
    prompt_of(twin).render(session=session)

    assert twin.installed == section.installed + 1


def test_whoever_installs_first_the_prompt_knows() -> None:
    """A section that was given a session when it was made has prepared it already."""
    section, session = Notes("Notes"), Session()

    section.install_once(session)
    prompt_of(section).render(session=session)

    assert section.installed == 1


def test_sections_clean_up_last_one_first() -> None:
    """What came later may rest on what came before."""
    log: list[str] = []
    inner, outer, last = Notes("Inner"), Notes("Outer"), Notes("Last")
    outer.children = (inner,)
    for section in (inner, outer, last):
        section.log = log

    prompt_of(outer, last).cleanup()

    assert log == ["last", "inner", "outer"]


def test_one_that_fails_to_clean_up_does_not_stop_the_others() -> None:
    """All are asked, and everything that went wrong is reported together."""

    class Stuck(Notes):
        def cleanup(self) -> None:
            super().cleanup()
            raise RuntimeError(self.key)

    log: list[str] = []
    sections = [Stuck("One"), Notes("Two"), Stuck("Three")]
    for section in sections:
        section.log = log

    with pytest.raises(ExceptionGroup) as caught:
        prompt_of(*sections).cleanup()

    assert log == ["three", "two", "one"]
    assert [str(error) for error in caught.value.exceptions] == ["three", "one"]
