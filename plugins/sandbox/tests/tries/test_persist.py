"""Files of the home that an agent keeps: its login and its transcripts are real when it ends, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from wink_sandbox.tries import PROFILES, home_pattern

Wink = Callable[..., "subprocess.CompletedProcess[str]"]

LOGIN: Final = "mkdir -p ~/.claude && echo token > ~/.claude/.credentials.json"
TOKEN: Final = ".claude/.credentials.json"
CHAT: Final = ".claude/projects/-p/chat.jsonl"


@pytest.fixture
def home(place: Path) -> Path:
    """The real home."""
    return place.parent / "home"


@pytest.fixture
def claude(wink: Wink) -> Wink:
    """Run a shell script as the agent."""

    def call(script: str, *options: str) -> subprocess.CompletedProcess[str]:
        return wink("try", "--profile", "claude", *options, "--", "sh", "-c", script)

    return call


def content(home: Path) -> dict[str, str]:
    """Every file of the home but those of wink's user."""
    files = (path for path in sorted(home.rglob("*")) if not path.is_dir() or path.is_symlink())
    return {str(path.relative_to(home)): os.readlink(path) if path.is_symlink() else path.read_text() for path in files}


def logged_in(home: Path) -> None:
    """The user has used the agent before."""
    (home / ".claude").mkdir()
    (home / TOKEN).write_text("old\n")
    (home / TOKEN).chmod(0o600)


def test_a_login_is_real_and_nothing_is_left_of_the_try(claude: Wink, wink: Wink, home: Path) -> None:
    """Whoever drops what an agent did does not want to log in again."""
    done = claude(f"{LOGIN}; mkdir -p ~/.claude/projects/-p; echo '{{}}' > ~/{CHAT}; chmod 666 ~/{CHAT}")

    told = (
        f"wink: kept in your home, for real: 2 paths (~/{TOKEN}, ~/{CHAT})\nwink: it changed nothing in the workspace\n"
    )
    said = "".join(line for line in done.stderr.splitlines(keepends=True)[1:] if "also hidden: " not in line)
    assert (done.returncode, said) == (0, told)  # the first line says what the program sees
    assert content(home) == {TOKEN: "token\n", CHAT: "{}\n", ".profile": "mine\n"}
    assert [(home / path).stat().st_mode & 0o7777 for path in (TOKEN, CHAT, ".claude")] == [0o600, 0o600, 0o700]
    assert wink("tries").stdout == ""


def test_several_programs_that_leave_a_login_alone_leave_no_try(claude: Wink, wink: Wink, home: Path) -> None:
    """A list of tries without a path in them hides those that have some."""
    claude(f"{LOGIN}; echo draft > ~/draft")
    assert wink("tries").stdout.startswith("default  0 paths changed, and 1 path in the home\n")

    claude(f"echo new > ~/{TOKEN}; rm ~/draft")

    assert content(home) == {TOKEN: "new\n", ".profile": "mine\n"}
    assert wink("tries").stdout == ""


def test_the_next_program_sees_what_is_real(claude: Wink, wink: Wink, home: Path) -> None:
    """Somebody else may have refreshed the token meanwhile; settings and hooks stay in the try, and are listed."""
    claude(f"{LOGIN}; echo mine > ~/.claude/settings.json")
    (home / TOKEN).write_text("refreshed\n")

    done = claude(f"cat ~/{TOKEN} ~/.claude/settings.json; echo new > ~/.claude/draft; mv ~/.claude/draft ~/{TOKEN}")

    assert done.stdout == "refreshed\nmine\n"
    assert content(home) == {TOKEN: "new\n", ".profile": "mine\n"}
    shown = wink("diff", "--home").stdout
    assert "+mine" in shown
    assert "credentials" not in shown
    wink("drop")
    assert (home / TOKEN).read_text() == "new\n"


def test_quiet_says_only_what_is_not_kept(claude: Wink, home: Path) -> None:
    """What goes as it should needs no word."""
    assert claude(LOGIN, "-q").stderr == ""

    assert claude(f"ln -sf x ~/{TOKEN}", "--quiet").stderr == f"wink: not kept in your home: ~/{TOKEN} is a link\n"
    assert (home / TOKEN).read_text() == "token\n"


def test_a_transcript_goes_on(claude: Wink, home: Path) -> None:
    """It grows in the place where it is, and a mode that is tighter stays."""
    claude(f"mkdir -p ~/.claude/projects/-p; echo 1 > ~/{CHAT}")
    (home / TOKEN).write_text("old\n")
    (home / TOKEN).chmod(0o400)

    claude(f"echo 2 >> ~/{CHAT}; rm -f ~/{TOKEN}; echo new > ~/{TOKEN}")

    assert (home / CHAT).read_text() == "1\n2\n"
    assert ((home / TOKEN).read_text(), (home / TOKEN).stat().st_mode & 0o777) == ("new\n", 0o400)


@pytest.mark.parametrize("is_there", [True, False])
def test_what_another_agent_has_refreshed_meanwhile_stays(
    place: Path, environment: dict[str, str], home: Path, wink: Wink, *, is_there: bool
) -> None:
    """A token can be used once: the older one in its place would log the user out."""
    if is_there:
        logged_in(home)
    script = f"mkdir -p ~/.claude; echo tried > ~/{TOKEN}; echo ready; read line"
    command = [sys.executable, "-m", "wink", "try", "--profile", "claude", "--", "sh", "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=place, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        (home / ".claude").mkdir(exist_ok=True)
        (home / TOKEN).write_text("newer\n")
        _, said = run.communicate("go\n", timeout=100)

    assert run.returncode == 0
    assert f"not kept in your home: ~/{TOKEN} " in said
    assert "was changed in your home meanwhile" in said or "that was made anew" in said
    assert (home / TOKEN).read_text() == "newer\n"
    assert "+tried" in wink("diff", "--home").stdout


def test_what_was_written_before_it_was_to_be_kept_is_kept_later(claude: Wink, wink: Wink, home: Path) -> None:
    """The first login is made before one reads about profiles."""
    wink("try", "--", "sh", "-c", LOGIN)
    assert content(home) == {".profile": "mine\n"}

    assert f"for real: 1 path (~/{TOKEN})" in claude("true").stderr
    assert (home / TOKEN).read_text() == "token\n"


def test_what_was_written_on_top_of_an_older_file_is_not_kept(claude: Wink, wink: Wink, home: Path) -> None:
    """The program that wrote it has seen another one than there is now."""
    logged_in(home)
    wink("try", "--", "sh", "-c", LOGIN)
    (home / TOKEN).write_text("newer\n")

    assert "was changed in your home meanwhile" in claude("true").stderr
    assert (home / TOKEN).read_text() == "newer\n"


def test_a_program_between_that_was_not_to_keep_it(claude: Wink, wink: Wink, home: Path) -> None:
    """What is real has not changed since the try saw it last, but by the try itself."""
    claude(f"{LOGIN}; touch ~/other")
    wink("try", "--", "sh", "-c", f"echo newer > ~/{TOKEN}")
    assert (home / TOKEN).read_text() == "token\n"

    claude("true")

    assert (home / TOKEN).read_text() == "newer\n"
    wink("try", "--", "sh", "-c", f"echo newest > ~/{TOKEN}")
    (home / TOKEN).write_text("else\n")
    for _ in range(2):
        assert "was changed in your home meanwhile" in claude("true").stderr
        assert (home / TOKEN).read_text() == "else\n"


def test_a_deletion_is_not_carried_over(claude: Wink, wink: Wink, home: Path) -> None:
    """What logs out in a try is still logged in outside of it, and the try says so."""
    logged_in(home)

    done = claude("rm -r ~/.claude")

    assert "in the home, which stays with the try: 2 paths" in done.stderr
    assert (home / TOKEN).read_text() == "old\n"
    assert "-old" in wink("diff", "--home").stdout


ATTACKS: Final = {
    "link": (f"ln -sf ~/.profile ~/{TOKEN}", "is a link"),
    "link that leads out": (f"ln -sf /etc/passwd ~/{TOKEN}", "is a link"),
    "FIFO": (f"rm ~/{TOKEN}; mkfifo ~/{TOKEN}", "is a FIFO"),
    "directory": (f"rm ~/{TOKEN}; mkdir ~/{TOKEN}", "is a directory"),
    "sparse": (f"truncate -s 5G ~/{TOKEN}", "is larger than 67108864 bytes"),
    "hard link": (f"rm ~/{TOKEN}; echo x > ~/x; ln ~/x ~/{TOKEN}", "has more than one name"),
    "setuid": (f"rm ~/{TOKEN}; echo x > ~/{TOKEN}; chmod 4755 ~/{TOKEN}", "has special bits in its mode"),
    "empty": (f"truncate -s 0 ~/{TOKEN}", "is empty"),
    "parent that is a link": ("mv ~/.claude ~/moved || { rm -r ~/.claude; mkdir ~/moved; }; ln -s moved ~/.claude", ".claude is a link"),
    "parent that leads out": ("rm -r ~/.claude; ln -s /etc ~/.claude", "is not reached: .claude is a link"),
    "parent that is a file": ("rm -r ~/.claude; echo x > ~/.claude", "is not reached: .claude is a file"),
    "parent made anew": (f"rm -r ~/.claude; {LOGIN}", "is in a ~/.claude that was made anew, which is not the one in your home"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_no_plain_file_stays_in_the_try(claude: Wink, home: Path, attack: str) -> None:
    """It could lead anywhere, fill the disk, or wait for ever; the try itself goes well, and says what it does not keep."""
    logged_in(home)
    script, reason = ATTACKS[attack]

    done = claude(f"{script} && echo done")

    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "wink: not kept in your home: " in done.stderr
    assert reason in done.stderr
    assert content(home) == {TOKEN: "old\n", ".profile": "mine\n"}
    assert sorted(path.name for path in (home / ".claude").iterdir()) == [".credentials.json"]


def test_names_that_a_pattern_does_not_mean(claude: Wink, home: Path) -> None:
    """Transcripts lie where they are looked for, under names that can be read."""
    names = ("new\nline.jsonl", ".hidden/a.jsonl", "hooks/a.jsonl", "a.json", "x.jsonl/y.jsonl", "link.jsonl")
    made = " ".join(f"'{name}'" for name in names[:-1])
    write = f'for name in {made}; do mkdir -p "$(dirname "$name")"; echo x > "$name"; done'

    done = claude(
        f"mkdir -p ~/.claude/projects/-p; cd ~/.claude/projects/-p; {write}; ln -s /etc/passwd link.jsonl; echo x > good.jsonl"
    )

    assert set(content(home)) == {".profile", ".claude/projects/-p/good.jsonl"}
    assert done.returncode == 0
    assert r'-p/new\nline.jsonl" is refused: its name cannot be printed' in done.stderr
    assert "-p/x.jsonl is a directory" in done.stderr
    assert "-p/link.jsonl is a link" in done.stderr
    assert "-p/hooks/a.jsonl is refused: other programs run what is in hooks, or are told by it" in done.stderr


def test_nothing_is_executable_afterwards(claude: Wink, home: Path) -> None:
    """A mode is not carried over, and a program of the user is not overwritten."""
    claude(f"{LOGIN}; chmod 777 ~/{TOKEN}")
    assert (home / TOKEN).stat().st_mode & 0o7777 == 0o600
    (home / TOKEN).chmod(0o700)

    done = claude(f"echo new > ~/{TOKEN}")

    assert "is not replaced: in your home it is a link, executable, another user's, or has a second name" in done.stderr
    assert (home / TOKEN).read_text() == "token\n"


def test_a_link_of_the_user_is_not_followed_and_a_second_name_not_cut_off(claude: Wink, home: Path) -> None:
    """Their files may be in a repository of settings, and it is for them to say what is to be there."""
    (home / "dots").mkdir()
    (home / "dots/token").write_text("old\n")
    (home / ".claude").mkdir()
    for make in (os.link, os.symlink):
        make(home / "dots/token", home / TOKEN)
        assert (
            "is not replaced: in your home it is a link"
            in claude(f"rm ~/{TOKEN}; echo new > ~/{TOKEN}", "--name", make.__name__).stderr
        )
        (home / TOKEN).unlink()
    (home / ".claude").rmdir()
    (home / ".claude").symlink_to("dots")

    done = claude("echo new > ~/.claude/.credentials.json", "--name", "above")

    assert "not kept in your home: ~/.claude is not reached: .claude is a link" in done.stderr
    assert content(home) == {".claude": "dots", "dots/token": "old\n", ".profile": "mine\n"}


def test_too_much_at_once_is_left_for_the_next_time(claude: Wink, home: Path) -> None:
    """A program could fill the disk by the thousand; nothing is lost, and all is named."""
    many = "mkdir -p ~/.claude/projects/-p; cd ~/.claude/projects/-p; for i in $(seq 1005); do echo $i > $i.jsonl; done"

    done = claude(many)

    assert "kept in your home, for real: 1000 paths" in done.stderr
    assert done.stderr.count("comes after 1000 files, or 268435456 bytes, the most at once") == 5
    assert "in the home, which stays with the try: 5 paths" in done.stderr
    assert "kept in your home, for real: 5 paths" in claude("true").stderr
    assert len(list((home / ".claude/projects/-p").iterdir())) == 1005


def test_more_than_a_screen_of_what_is_not_kept_is_counted(claude: Wink, home: Path) -> None:
    """One line for each would hide what else is said."""
    done = claude("mkdir -p ~/.claude/projects/-p; cd ~/.claude/projects/-p; for i in $(seq 21); do : > $i.jsonl; done")

    lines = [line for line in done.stderr.splitlines() if line.startswith("wink: not kept in your home: ")]
    assert [line.endswith(".jsonl is empty") for line in lines] == [True] * 20 + [False]
    assert lines[-1] == "wink: not kept in your home: 1 path more"
    assert content(home) == {".profile": "mine\n"}


def test_what_lies_too_deep_is_named(claude: Wink, home: Path) -> None:
    """A program can make directories without end; what lies above is kept."""
    deep = "/".join(map(str, range(30)))

    done = claude(f"mkdir -p ~/.claude/projects/{deep}; echo x > ~/.claude/projects/{deep}/x.jsonl; {LOGIN}")

    assert "/16/17/18 has more than 20 levels of directories above it" in done.stderr
    assert content(home) == {TOKEN: "token\n", ".profile": "mine\n"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a home that is somebody else's")
def test_the_home_of_another_user_is_left_alone(claude: Wink, home: Path) -> None:
    """As with `sudo`, which may keep HOME: its owner could not read what is written there."""
    os.chown(home, 65534, 65534)

    assert "not kept in your home: ~ belongs to another user" in claude(LOGIN).stderr
    assert content(home) == {".profile": "mine\n"}


def test_a_directory_that_a_program_has_closed_is_named(claude: Wink, home: Path) -> None:
    """Root gets in all the same."""
    done = claude(f"{LOGIN}; chmod 0 ~/.claude")

    is_kept = (home / TOKEN).exists()
    assert is_kept == (os.geteuid() == 0)
    assert is_kept or "not kept in your home: ~/.claude cannot be made real: Permission denied" in done.stderr


# -- settings


def settings(home: Path, text: str) -> None:
    """The user's own."""
    (home / ".config/wink").mkdir(parents=True, exist_ok=True)
    (home / ".config/wink/wink.toml").write_text(text)


def test_the_users_own_settings_name_more(wink: Wink, home: Path) -> None:
    """For every program that sees the home and is no build."""
    settings(home, 'persist = ["~/.cache/tool/token", ".netrc"]')
    write = "mkdir -p ~/.cache/tool; echo a > ~/.cache/tool/token; echo b > ~/.netrc; echo c > ~/.other"

    for profile in ("build", "closed"):
        wink("try", "--profile", profile, "--name", profile, "--", "sh", "-c", write)
        assert not (home / ".netrc").exists()
    wink("try", "--", "sh", "-c", write)

    assert (home / ".cache/tool/token").read_text() == "a\n"
    assert (home / ".netrc").read_text() == "b\n"
    assert not (home / ".other").exists()


@pytest.mark.parametrize(
    ("name", "text"), [("wink.toml", 'persist = [".x"]'), ("pyproject.toml", '[tool.wink]\npersist = [".x"]')]
)
@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_workspace_has_no_say_in_it(
    wink: Wink, place: Path, home: Path, name: str, text: str, *, is_trusted: bool
) -> None:
    """It would have its own programs write to the home of whoever clones it."""
    (place / name).write_text(text)
    if is_trusted:
        wink("trust", "--yes")

    done = wink("try", "--", "sh", "-c", "echo x > ~/.x")

    assert done.returncode == 0
    assert "persist is not heeded in a file of the workspace; say it in your own settings" in done.stderr
    assert not (home / ".x").exists()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"~/.x"', "$.persist: must be a list of at most 100 texts"),
        ("[1]", "$.persist: must be a list of at most 100 texts"),
        ('["a", "~/.bashrc"]', "$.persist[1]: '~/.bashrc': other programs run .bashrc, or are told by it"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_runs(wink: Wink, home: Path, value: str, message: str) -> None:
    """A login that is not kept after all would be a surprise."""
    settings(home, f"persist = {value}")

    done = wink("try", "--", "echo", "ran")

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "~", "~/", ".", "..", "~/..", "~/a/../b", "/etc/passwd", "~root/x", "a//b", "a/", "a\nb"),
        *("~/.ssh/id", ".SSH/id", ".bashrc", ".profile", ".Zshrc", ".config/autostart/x", ".config/systemd/user/x"),
        *(".gitconfig", ".config/git/config", ".config/wink/wink.toml", ".local/state/wink/trust.json", ".local/bin/x"),
        *(".claude.json", ".claude/settings.json", ".claude/hooks/x", ".claude/plugins/x.json", ".codex/config.toml"),
        *(".claude/CLAUDE.md", ".npmrc", "x.sh", "p/.git/HEAD", "*", "**", "*.json", ".x/*.json", ".x/**/*.json"),
        *(".x/y/*", ".x/y/**", ".x/y/**/**/*.json", ".x/y/a**/b.json", ".x/y/[ab].json"),
    ],
)
def test_what_others_run_or_nobody_can_foresee_is_no_entry(text: str) -> None:
    """Startup files, settings of agents and of git, wink's own, and patterns that could mean any of these."""
    with pytest.raises(ValueError, match=r"home|pattern|other programs"):
        home_pattern(text)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("~/a", "a", True),
        ("~/a", "a/b", False),
        ("a/b/*.json", "a/b/c.json", True),
        ("a/b/*.json", "a/b/.c.json", False),
        ("a/b/*.json", "a/b/c/d.json", False),
        ("a/b/*/d.json", "a/b/c/d.json", True),
        ("a/b/**/*.json", "a/b/c.json", True),
        ("a/b/**/*.json", "a/b/c/d/e.json", True),
        ("a/b/**/*.json", "a/b/c/.d/e.json", False),
        ("a/b/**/c/*.json", "a/b/x/c/e.json", True),
        ("a/b/**/c/*.json", "a/b/x/e.json", False),
        ("a/b/**/c/*.json", "a/b/e.json", False),
    ],
)
def test_patterns(pattern: str, path: str, *, fits: bool) -> None:
    """A star is for one name, two are for directories; what begins with a dot is named in full. The way leads there."""
    names = tuple(path.split("/"))
    one = home_pattern(pattern)

    assert one.fits(names) == fits
    above = [names[:number] for number in range(len(one.fixed), len(names))]
    assert not fits or all(map(one.leads, above))


def test_profiles_of_agents_name_what_may_be_kept() -> None:
    """The same rules hold for them."""
    named = [text for profile in PROFILES.values() for text in profile.persist or ()]

    assert len(named) > 5
    assert all(home_pattern(text).parts for text in named)
