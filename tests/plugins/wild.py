"""What is found in the wild: distributions that fail in every way that somebody has thought of, as data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wink.plugins import State
from wink.testing import fake_distribution

GOOD = """
from wink.prompt import MarkdownSection, ToolsSection
from wink.tools import Tool, ToolResult

def say(params: None, *, context) -> ToolResult[None]:
    return ToolResult.ok(None, message="well")

def section(*, title="Section"):
    '''Something to say.'''
    return ToolsSection(title, [Tool[None, None]("healthy_say", "Say how it goes.", say)], key="section")
"""
HOOKS = """
from dataclasses import dataclass
from wink.plugins import PolicyOffer, SectionOffer, hookimpl
from wink.prompt import MarkdownSection

def section():
    return MarkdownSection(title="Section", template="x", key="wild-{n}")
"""

MAKING = """
from dataclasses import dataclass
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolResult

class Odd: ...

def say(params: None, *, context) -> ToolResult[None]: ...

def of(tool):
    return ToolsSection('Own', [tool], key='wild-{n}')
"""


@dataclass(frozen=True)
class Wild:
    """One thing that goes wrong: the distributions that bring it, and what is to be said of them.

    `listed` is the state before anything is imported, `loaded` the one after; both are of every plugin called `plugin`.
    `{n}` in texts is the number that keeps its modules apart from other cases'. `alone` says that importing it in the
    process of the tests would harm them.
    """

    name: str
    loaded: State
    reason: str
    listed: State | None = None
    points: Any = "[wink.sections]\nwild-{n}.a = wild_{n}:section\n"
    modules: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, Any] = field(default_factory=dict[str, Any])
    requires: Sequence[str] = ()
    also: Callable[[Path, int], None] | None = None
    plugin: str = "wild-{n}"
    note: str = ""
    alone: bool = False

    def install(self, directory: Path, n: int, stack: ExitStack) -> None:
        """Put it into a directory of the path, under a name with `n` in it."""
        points: Any = self.points.replace("{n}", str(n)) if isinstance(self.points, str) else self.points
        if isinstance(points, bytes):
            points = points.replace(b"{n}", str(n).encode())
        modules = {"wild_{n}": GOOD} if not self.modules else self.modules
        stack.enter_context(
            fake_distribution(
                f"wild-dist-{n}",
                "1.0",
                entry_points=points,
                modules={name.format(n=n): source.replace("{n}", str(n)) for name, source in modules.items()},
                files={name: _numbered(content, n) for name, content in self.files.items()},
                requires=self.requires,
                directory=directory,
                on_path=False,
            )
        )
        if self.also is not None:
            self.also(directory, n)


def _numbered(content: Any, n: int) -> Any:
    return content.replace("{n}", str(n)) if isinstance(content, str) else content


ALIENS = {
    "utf-16": "[console_scripts]\na = b:c\n".encode("utf-16"),
    "latin": b"[console_scripts]\ncaf\xe9 = b:c\n",
    "bytes": b"\xff\xfe\xfd",
    "odd": "no group = x\n[fsspec.specs]\nbare\n[unclosed\n= x:y\nodd = not a target!!\n",
    "null": b"[fsspec.specs]\na = b\0c\n",
}
"""Entry points of packages that have nothing to do with wink, which every library would read."""


def fails(name: str, source: str, reason: str, **more: Any) -> Wild:
    """A module that cannot be imported, or whose offer cannot be used."""
    return Wild(name, "broken", reason, listed="available", modules={"wild_{n}": source}, **more)


def made(name: str, source: str, reason: str) -> Wild:
    """A module that is imported well, whose section cannot be used; only trying makes it."""
    return fails(name, MAKING + source, reason, alone=True)


BOTH = "[wink.sections]\nwild-{n}.a = wild_{n}:section\n[wink.hooks]\nwild-{n} = wild_{n}\n"


def hooked(name: str, source: str, reason: str, **more: Any) -> Wild:
    """A hook module that fails."""
    more.setdefault("points", "[wink.hooks]\nwild-{n} = wild_{n}\n")
    return Wild(name, "broken", reason, listed="available", modules={"wild_{n}": HOOKS + source}, **more)


def metadata(name: str, points: str | bytes, reason: str, **more: Any) -> Wild:
    """Entry points that are wrong on their face."""
    return Wild(name, "broken", reason, listed="broken", points=points, **more)


def _another(directory: Path, n: int, name: str, points: str, **more: Any) -> None:
    with fake_distribution(name, entry_points=points.format(n=n), directory=directory, on_path=False, **more):
        pass


def _namesake(directory: Path, n: int) -> None:
    _another(directory, n, f"another-dist-{n}", "[wink.sections]\nwild-{n}.b = wild_{n}:section\n")


def _older_twin(directory: Path, n: int) -> None:
    _another(directory, n, f"wild-dist-{n}", "[wink.sections]\nwild-{n}.old = wild_{n}:section\n", version="0.9")


def _without_metadata(directory: Path, n: int) -> None:
    (directory / f"wild_dist_{n}-1.0.dist-info" / "METADATA").unlink()


def _as_egg_info(directory: Path, n: int) -> None:
    info = directory / f"wild_dist_{n}-1.0.dist-info"
    (info / "METADATA").rename(info / "PKG-INFO")
    info.rename(info.with_suffix(".egg-info"))


def _link_in_a_circle(directory: Path, n: int) -> None:
    info = directory / f"wild_dist_{n}-1.0.dist-info"
    (info / "METADATA").unlink()
    (info / "METADATA").symlink_to("METADATA")


def _namespace(directory: Path, n: int) -> None:
    (directory / f"wild_space_{n}").mkdir()
    (directory / f"wild_space_{n}" / "inner.py").write_text(GOOD)


def _odd_neighbours(directory: Path, n: int) -> None:
    """What else lies in directories of packages: a file for a directory, names of no encoding, links, leftovers."""
    (directory / f"file_{n}-1.0.egg-info").write_text("Name: file\n")
    (directory / f"alien_{n}-1.0.dist-info").write_text("Name: alien")
    for name, points in ALIENS.items():
        with fake_distribution(f"{name}-{n}", entry_points=points, directory=directory, on_path=False):
            pass
    for name, what in (("circle", os.symlink), ("fifo", lambda _, to: os.mkfifo(to))):
        with fake_distribution(f"{name}-{n}", directory=directory, on_path=False) as made:
            for file in ("entry_points.txt", "RECORD"):
                what(file, f"{made.info}/{file}")
    with fake_distribution(f"secret-{n}", entry_points="[a]\nb = c:d\n", directory=directory, on_path=False) as made:
        os.chmod(f"{made.info}/entry_points.txt", 0)
    with fake_distribution(
        f"latin-{n}",
        files={"METADATA": b"Name: caf\xe9\n", "RECORD": b"\xff\xfe,,\n"},
        directory=directory,
        on_path=False,
    ):
        pass
    (directory / f"around_{n}").symlink_to(".")
    (directory / f"linked_{n}.egg-link").write_text("/nowhere\n.\n")
    (directory / f"gone_{n}-1.0.dist-info").symlink_to("nowhere")
    (directory / f"empty_{n}-1.0.dist-info").mkdir()
    (directory / f"points_{n}-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    (directory / f"~ild_{n}-1.0.dist-info").mkdir()
    (directory / ".dist-info").mkdir(exist_ok=True)


def _name_of_no_encoding(directory: Path, n: int) -> None:
    name = os.fsencode(directory) + b"/caf\xe9_%d-1.0.dist-info" % n
    try:
        os.mkdir(name)
    except OSError:  # a file system that takes only UTF-8
        name = os.fsencode(directory) + b"/cafe_%d-1.0.dist-info" % n
        os.mkdir(name)
    with open(name + b"/entry_points.txt", "w") as opened:
        opened.write(f"[wink.sections]\nwild-{n}-odd.a = wild_{n}:section\n")


def _stale_project(directory: Path, n: int) -> None:
    """An editable install whose project has since renamed what it offers."""
    project = directory.parent / f"project {n}"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        f'[project]\nname = "wild-dist-{n}"\n[project.entry-points."wink.sections"]\n"wild-{n}.b" = "wild_{n}:section"\n'
    )
    _editable(directory, n, project)


def _gone_project(directory: Path, n: int) -> None:
    _editable(directory, n, directory.parent / f"gone {n}")


def _editable(directory: Path, n: int, project: Path) -> None:
    origin = f'{{"url": "{project.as_uri()}", "dir_info": {{"editable": true}}}}'
    (directory / f"wild_dist_{n}-1.0.dist-info" / "direct_url.json").write_text(origin)


CASES: Sequence[Wild] = (
    # Imports that fail.
    fails("import error", "import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    fails("another exception", "1 / 0", "ZeroDivisionError: division by zero"),
    fails("syntax error", "def section(:", "SyntaxError: invalid syntax"),
    fails("null bytes", "section = '\0'", "source code"),
    fails("SystemExit", "raise SystemExit(3)", "SystemExit: 3"),
    fails("sys.exit with a text", "import sys\nsys.exit('no licence')", "SystemExit: no licence"),
    fails("KeyboardInterrupt", "raise KeyboardInterrupt", "KeyboardInterrupt"),
    fails("GeneratorExit", "raise GeneratorExit", "GeneratorExit"),
    fails("own BaseException", "class Odd(BaseException): pass\nraise Odd('strange')", "Odd: strange"),
    fails("group of exceptions", "raise BaseExceptionGroup('all', [SystemExit(1)])", "BaseExceptionGroup: all"),
    fails("text that raises", "class Mute(Exception):\n  def __str__(self): 1 / 0\nraise Mute", "Mute"),
    fails("text that exits", "class Mute(Exception):\n  def __str__(self): raise SystemExit\nraise Mute", "Mute"),
    fails("text of many lines", "raise ValueError('one\\n\\n  two\\x1b[2J')", r"ValueError: one two\x1b[2J"),
    fails("text without end", "raise ValueError('x' * 10**7)", "ValueError: xxx"),
    fails("deep recursion", "def down(): down()\ndown()", "RecursionError: maximum recursion depth exceeded"),
    Wild(
        "circular import",
        "broken",
        "cannot import name 'section' from partially initialized module 'wild_{n}' (most likely due to a circular import)",
        listed="available",
        modules={
            "wild_{n}": "from wild_other_{n} import helper\ndef section(): ...",
            "wild_other_{n}": "from wild_{n} import section\nhelper = 1",
        },
    ),
    # Offers that are not what they say.
    fails("no such attribute", "", "AttributeError: module 'wild_{n}' has no attribute 'section'"),
    fails("an attribute that raises", "def __getattr__(name): raise SystemExit(name)", "SystemExit"),
    fails("an offer that cannot be called", "section = 3", "wild_{n}:section is int, not a callable"),
    Wild(
        "a factory that makes something else",
        "broken",
        "wild_{n}:section returned str, not a section",
        listed="available",
        modules={"wild_{n}": "def section(): return 'a section'"},
        alone=True,  # only trying makes it
    ),
    Wild(
        "a factory that is a coroutine",
        "broken",
        "wild_{n}:section returned coroutine, not a section",
        listed="available",
        modules={"wild_{n}": "async def section(): ..."},
        alone=True,
    ),
    made("a factory that raises", "def section(): raise RuntimeError('no server')",
         "section wild-{n}.a cannot be made: RuntimeError: no server; wild_{n}:section has to fix that"),
    made("a factory that exits", "def section(): raise SystemExit(3)", "section wild-{n}.a cannot be made: SystemExit: 3"),
    made("a factory that ends the process", "import os\ndef section(): os._exit(5)", "importing it ended the process with status 5"),
    made("a factory that hangs", "import time\ndef section(): time.sleep(600)", "importing it takes longer than"),
    made("a tool with an illegal name", "def section(): return of(Tool[None, None]('Bad Name!', 'x', say))",
         "section wild-{n}.a cannot be made: PromptValidationError: tool 'Bad Name!': 'Bad Name!' is no tool name"),
    made("a tool without a description", "def section(): return of(Tool[None, None]('wild_{n}', '', say))",
         "PromptValidationError: tool 'wild_{n}': the description is empty"),
    made("parameters that JSON cannot hold",
         "@dataclass\nclass Params:\n    odd: Odd\ndef do(params: Params, *, context) -> ToolResult[None]: ...\n"
         "def section(): return of(Tool[Params, None]('wild_{n}', 'x', do))",
         "section wild-{n}.a cannot be shown to a model: PromptValidationError: tool 'wild_{n}'"),
    made("tools that raise", "class Own(ToolsSection):\n    def tools(self): raise RuntimeError('no tools')\n"
         "def section(): return Own('Own', [], key='wild-{n}')", "cannot be shown to a model: RuntimeError: no tools"),
    made("a text that raises", "class Own(ToolsSection):\n    def render_body(self, params, **more): raise RuntimeError('no text')\n"
         "def section(): return Own('Own', [], key='wild-{n}')", "rendering raised RuntimeError: no text"),
    made("an installation that raises", "class Own(ToolsSection):\n    def install(self, session): raise RuntimeError('no state')\n"
         "def section(): return Own('Own', [], key='wild-{n}')", "cannot be shown to a model: RuntimeError: no state"),
    made("resources that raise", "class Own(ToolsSection):\n    def resources(self): raise RuntimeError('no bus')\n"
         "def section(): return Own('Own', [], key='wild-{n}')", "cannot be shown to a model: RuntimeError: no bus"),
    made("an enablement that raises", "def section(): return ToolsSection('Own', [], key='wild-{n}', enabled=lambda: 1 / 0)",
         "enabled raised ZeroDivisionError"),
    # Metadata.
    metadata("entry points in Latin-1", b"[wink.sections]\nwild-{n}.caf\xe9 = a:b\n", "entry_points.txt is not UTF-8 (byte"),
    metadata(
        "entry points in UTF-16",
        "[wink.sections]\nwild-999.a = wild_999:section\n".encode("utf-16"),
        "entry_points.txt is not UTF-8 (byte 0)",
        plugin="wild-999",
    ),
    metadata("no target", "[wink.sections]\nwild-{n}.a =\n", "entry point 'wild-{n}.a' in wink.sections has no target"),
    metadata("no equals sign", "[wink.sections]\nwild-{n}.a\n", "has no target"),
    metadata("a header that is not closed", "[wink.sections\nwild-{n}.a = wild_{n}:section\n", "'[wink.sections' is not closed with a bracket"),
    metadata("a target with a slash", "[wink.sections]\nwild-{n}.a = wild/x.py\n", "'wild/x.py' is not <module>:<attribute>"),
    metadata("a module as the target", "[wink.sections]\nwild-{n}.a = wild_{n}\n", "is not <module>:<attribute>"),
    metadata("capital letters", "[wink.sections]\nwild-{n}.Big = wild_{n}:section\n", "'Big' must be lower-case words"),
    metadata("no dot", "[wink.sections]\nwild-{n} = wild_{n}:section\n", "must be <plugin>.<name>"),
    metadata("a reserved name", "[wink.sections]\ntest.a = wild_{n}:section\n", "plugin name 'test' is reserved", plugin="test"),
    metadata(
        "a name that is too long",
        "[wink.sections]\nwild-{n}." + "x" * 41 + " = wild_{n}:section\n",
        "at most 40 characters",
    ),
    metadata(
        "one offer twice",
        "[wink.sections]\nwild-{n}.a = wild_{n}:section\nwild-{n}.a = wild_{n}:other\n",
        "section 'wild-{n}.a' is declared twice, as wild_{n}:other and as wild_{n}:section",
    ),
    metadata("hooks twice", "[wink.hooks]\nwild-{n} = wild_{n}\nwild-{n} = other\n", "hooks are declared twice"),
    Wild("METADATA in Latin-1", "loaded", "", note="METADATA is not UTF-8", files={"METADATA": b"Name: wild\nSummary: caf\xe9\n"}),
    Wild("no METADATA", "loaded", "", note="METADATA is missing", also=_without_metadata),
    Wild("an empty METADATA", "loaded", "", note="METADATA is missing", files={"METADATA": ""}),
    Wild("METADATA that links to itself", "loaded", "", note="METADATA is missing", also=_link_in_a_circle),
    Wild("METADATA without name and version", "loaded", "", note="METADATA has no Name and no Version", files={"METADATA": "Summary: x\n\n"}),
    Wild("a group of a later wink", "loaded", "", note="group 'wink.dreams' means nothing to this version",
         points="[wink.sections]\nwild-{n}.a = wild_{n}:section\n[wink.dreams]\nwild-{n}.b = x:y\n"),
    Wild("extras", "loaded", "", points="[wink.sections]\nwild-{n}.a = wild_{n}:section [fast, yaml]\n"),
    Wild("an .egg-info directory", "loaded", "", also=_as_egg_info),
    Wild("odd neighbours", "loaded", "", also=_odd_neighbours),
    Wild("a directory whose name has no encoding", "loaded", "", note="METADATA is missing", also=_name_of_no_encoding, plugin="wild-{n}-odd"),
    Wild("a namespace package", "loaded", "", points="[wink.sections]\nwild-{n}.a = wild_space_{n}.inner:section\n", also=_namespace),
    # Versions, duplicates, editable installs.
    Wild("for a later wink", "incompatible", "requires wink>=99,<100, this is", listed="incompatible", requires=["wink>=99,<100"]),
    Wild("for an earlier wink", "incompatible", "requires wink<0.0.1, this is", listed="incompatible", requires=["wink (<0.0.1)"]),
    Wild("for no version at all", "incompatible", "not a range of versions", listed="incompatible", requires=["wink>=newest"]),
    Wild("two distributions, one name", "conflict", "is also used by distribution", listed="conflict", also=_namesake),
    Wild("two versions of one distribution", "loaded", "", also=_older_twin),
    Wild("a stale editable install", "stale", "adds section wild-{n}.b, no longer has section wild-{n}.a; run `pip install -e` again",
         listed="stale", also=_stale_project),
    Wild("an editable install whose project is gone", "stale", "is gone; run `pip install -e` again where it is now",
         listed="stale", also=_gone_project),
    # Hooks.
    hooked("a misspelt hook", "@hookimpl\ndef wink_section(settings): return []", "unknown hook 'wink_section'; did you mean wink_sections?"),
    hooked("an outdated hook", "@hookimpl\ndef wink_before_call(tool): ...", "unknown hook 'wink_before_call'"),
    hooked(
        "outdated arguments",
        "@hookimpl\ndef wink_sections(path, config, settings): return []",
        "hook wink_sections has no argument 'path', 'config'; it may take settings",
    ),
    hooked("an unmarked hook", "def wink_sections(settings): return []", "wink_sections is not marked; put @hookimpl on it"),
    hooked(
        "a generator that raises half-way",
        "@hookimpl\ndef wink_sections(settings):\n    yield SectionOffer('wild-{n}.a', section)\n    1 / 0",
        "ZeroDivisionError",
    ),
    hooked("a generator that exits", "@hookimpl\ndef wink_sections():\n    yield from ()\n    raise SystemExit(2)", "SystemExit: 2"),
    hooked("an offer of another kind", "@hookimpl\ndef wink_sections():\n    yield PolicyOffer('wild-{n}.a', section)", "yielded PolicyOffer"),
    hooked("what is no offer", "@hookimpl\ndef wink_sections(): return [3]", "yielded int, not SectionOffer"),
    hooked("what cannot be iterated", "@hookimpl\ndef wink_sections(): return 3", "returned int, not an iterable"),
    hooked("another plugin's name", "@hookimpl\ndef wink_sections(): return [SectionOffer('healthy.b', section)]", "another plugin's name"),
    hooked("settings of a wrong type", "@hookimpl\ndef wink_settings(): return dict", "wink_settings returned <class 'dict'>, not a dataclass"),
    hooked("settings that raise", "@hookimpl\ndef wink_settings(): raise SystemExit(1)", "SystemExit: 1"),
    hooked("a missing hook module", "import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    Wild(
        "one offer from metadata and from a hook", "conflict", "section 'wild-{n}.a' comes from", listed="available",
        points="[wink.sections]\nwild-{n}.a = wild_{n}:section\n[wink.hooks]\nwild-{n} = wild_{n}\n",
        modules={"wild_{n}": HOOKS + "@hookimpl\ndef wink_sections(): return [SectionOffer('wild-{n}.a', section)]"},
    ),
    Wild("a hook module without hooks", "loaded", "", note="wild_{n} implements no hook of wink", points="[wink.hooks]\nwild-{n} = wild_{n}\n"),
    # What only a process of its own survives, or notices.
    fails("a hang", "import time\nwhile True: time.sleep(60)", "importing it takes longer than", alone=True),
    fails("a hard exit", "import os\nos._exit(7)", "importing it ended the process with status 7", alone=True),
    fails("a crash", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "importing it was killed by SIGSEGV", alone=True),
    fails("a fork that goes on", "import os, time\nif os.fork(): os._exit(3)\ntime.sleep(60)", "status 3", alone=True),
    fails("a killer", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(60)",
          "importing it ended the process that tried it", alone=True),
    hooked("resources that stop half-way", "@hookimpl\ndef wink_resources():\n    yield from ()\n    raise RuntimeError('no more')",
           "RuntimeError: no more", alone=True, points=BOTH),
    hooked("a subscription that fails", "@hookimpl\ndef wink_subscribe(session): raise SystemExit('no bus')", "SystemExit: no bus", alone=True, points=BOTH),
    Wild("a slow import", "loaded", "", modules={"wild_{n}": "import time\ntime.sleep(1.1)\n" + GOOD}, alone=True),
    Wild("printing", "loaded", "", note="prints to standard output", modules={"wild_{n}": "print('{}')\nimport os\nos.write(1, b'x' * 10**6)\n" + GOOD}, alone=True),
    Wild("a thread", "loaded", "", note="starts threads while it is imported: wild",
         modules={"wild_{n}": "import threading, time\nthreading.Thread(target=time.sleep, args=(999,), name='wild').start()\n" + GOOD}, alone=True),
    Wild("another current directory", "loaded", "", note="wild_{n}:section changed the current directory, which was put back",
         modules={"wild_{n}": "import os\nos.chdir('/')\n" + GOOD}),
    Wild("a shorter sys.path", "loaded", "", note="changed sys.path, which was put back",
         modules={"wild_{n}": GOOD + "import sys\nsys.path[:] = ['/nowhere']\n"}),
    Wild("an outdated hook that still works", "loaded", "", note="wink_old is outdated (wild_{n}.py:3)",
         modules={"wild_{n}": "import warnings\nfrom wink.plugins import PluginWarning\nwarnings.warn('wink_old is outdated', PluginWarning)\n" + GOOD},
         alone=True),
    Wild("hooks that are a list", "broken", "TypeError: unhashable type: 'list'", listed="available",
         points="[wink.hooks]\nwild-{n} = wild_{n}:hooks\n", modules={"wild_{n}": "hooks = []"}),
    Wild("a signal's handler", "loaded", "", note="installs a handler for SIGTERM",
         modules={"wild_{n}": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + GOOD}, alone=True),
    Wild("no more warnings", "loaded", "", note="changes what is done with every warning",
         modules={"wild_{n}": "import warnings\nwarnings.simplefilter('ignore')\n" + GOOD}, alone=True),
)  # fmt: skip
