"""What stands around the examples of the page of refusals: what they begin with, their exit statuses, what is there in the end."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_GIT = "mount --bind /dev/null /usr/bin/git"


class Case(NamedTuple):
    """One entry: a script before it, the exit statuses of its wink commands, and a script that fails if the end is wrong.

    `around` is a command that all of them run in, and `where` a directory.
    """

    statuses: tuple[int, ...]
    after: str
    before: str = ""
    around: tuple[str, ...] = ()
    where: str = "."


def _without(script: str) -> tuple[str, ...]:
    """A machine that lacks something: mounts of its own, in which a script hides it."""
    return ("unshare", "--map-root-user", "--mount", "sh", "-ec", f'{script}\nexec "$@"', "sh")


def _as_ordinary() -> tuple[str, ...]:
    """Somebody without root's rights, whose the files are."""
    return ("unshare", "-U", "--map-user=1001", "--map-group=1001")


_ON_OVERLAY = (
    "mkdir -p ../upper ../work; mount -t overlay o -o userxattr,lowerdir=.,upperdir=../upper,workdir=../work .; cd $PWD"
)
_ON_RAM = "mkdir -p ../ram; mount -t ramfs none ../ram; cp -a . ../ram/project; cd ../ram/project"
_DEEP = "n=$(printf %0200d 0); (for i in $(seq 30); do mkdir $n; cd $n || break; done); echo x > secret; chmod 0 secret"
_LIB = "git init -q lib; echo x > lib/x"
_STORE = "git init -q --bare store"
_TAKEN = 'test "$(cat a.txt)" = two'
_OPEN = "wink tries | grep -q default"
_COMMITTED = "git diff --quiet HEAD; git log -1 --format=%s | grep two; git fsck"
_DOTFILES = "export GIT_DIR=$HOME/store.git GIT_WORK_TREE=$PWD"
_LONG = (
    "mkfifo ~/in; wink try --name long -- sh -c 'echo two > a.txt; timeout 90 head -n 1' <> ~/in > ~/out 2>&1 & "
    "until grep -qs two .wink/*/tries/long/upper/a.txt; do sleep 0.1; done"
)
_OVER = "! wink tries | grep -q ."
_CHATS = "mkdir -p ~/.claude/projects/-p"
_LOGIN = "mkdir -p ~/.claude; echo one > ~/.claude/.credentials.json"
_IN = "test $(cat ~/.claude/.credentials.json) = "
_SETTINGS = "mkdir -p ~/.config/wink"
_PLAIN = "! grep -q pager .git/config"

CASES: Final = {
    "What git runs": Case((0, 2, 0, 0, 0), f"{_TAKEN}; test ! -e .git/hooks/pre-commit; {_OVER}"),
    "An object that is not what its name says": Case(
        (0, 2, 1), f"{_TAKEN}; git fsck; test ! -e .git/objects/ab/cccccccccccccccccccccccccccccccccccccc; {_OPEN}"
    ),
    "A repository that has changed too": Case(
        (0, 2, 0), f"{_TAKEN}; git log -1 --format=%s try/default/main | grep two; {_OVER}"
    ),
    "A new repository": Case((0, 2, 0), "test -d lib/.git; test -e lib/x; test ! -e lib/.git/x"),
    "A new bare repository": Case((0, 2, 0), f"{_TAKEN}; git -C store log --all; {_OPEN}"),
    "What git runs in a bare repository": Case((0, 2, 0), f"{_TAKEN}; grep less store/config", _STORE),
    "A repository that was deleted": Case((0, 2, 0), f"{_TAKEN}; test ! -e .git"),
    "A directory that has a repository in it": Case((0, 2, 0), f"test ! -e lib; {_OVER}", _LIB),
    "A link in a repository": Case((0, 2, 0), f"{_TAKEN}; git rev-parse trunk"),
    "What is too deep": Case((0, 2, 0, 0), f"{_OVER}; test ! -e 0*"),
    "What not even its owner may read": Case(
        (0, 2, 0, 1, 0), f"test $(cat new/x) = x; test ! -e dark; {_OVER}", "mkdir -m 0 dark", around=_as_ordinary()
    ),
    "Names that Windows cannot hold": Case(
        (0, 2, 0, 0),
        f"{_TAKEN}; test -e auxiliary; {_OVER}",
        "printf '[tool.wink]\\nportable_names = true\\n' > wink.toml",
    ),
    "Settings of wink that no command could read": Case(
        (0, 2, 0, 0, 0), f"{_TAKEN}; grep portable_names wink.toml; {_OVER}"
    ),
    "A setting that is not merged": Case((0, 2, 0), f"{_TAKEN}; test $(git config core.pager) = less"),
    "A setting that somebody else changed too": Case(
        (0, 2, 0), f"test $(git config branch.main.rebase) = true; {_OVER}"
    ),
    "Comments in settings": Case((0, 2, 0, 0), f"{_TAKEN}; {_OVER}; ! grep mine .git/config"),
    "Settings that git cannot read": Case((0, 2, 128, 0, 0), f"{_TAKEN}; {_OVER}; git status"),
    "Too many settings": Case((0, 2, 0, 0), f"{_TAKEN}; {_OVER}; test $(git config branch.b200.rebase) = true"),
    "New remotes and other addresses": Case(
        (0, 2, 0), f"test $(git config remote.work.url) = https://example.org/a.git; {_OVER}"
    ),
    "Too many remotes": Case(
        (0, 2, 0, 0), f"{_TAKEN}; {_OVER}; test $(git config remote.r1.url) = https://example.org/1"
    ),
    "A NUL in settings": Case((0, 2, 0), f"{_TAKEN}; git status"),
    "Settings without git": Case((0, 2, 0), f"{_TAKEN}; {_PLAIN}", around=_without(NO_GIT)),
    "Settings that cannot be read": Case((0, 2, 0), f"{_TAKEN}; {_OPEN}"),
    "A git directory elsewhere": Case(
        (0, 2, 0), f"{_COMMITTED}; {_OVER}", "git init -q --separate-git-dir $HOME/store.git"
    ),
    "A git directory that is another's": Case(
        (0, 2, 0, 0),
        f"{_DOTFILES}; {_COMMITTED}; {_OVER}",
        "mv .git $HOME/store.git",
        around=("sh", "-c", f'{_DOTFILES}; exec "$@"', "sh"),
    ),
    "A worktree in which somebody else committed too": Case(
        (0, 2, 0, 0), f"{_COMMITTED}; {_OVER}", "git worktree add -q ../feature", where="../feature"
    ),
    "A commit that was to be signed by an agent": Case(
        (128, 0, 0),
        "git cat-file -p HEAD | grep 'BEGIN SSH SIGNATURE'; git fsck",
        "git config gpg.format ssh; git config user.signingkey ~/none; git config commit.gpgsign true",
        around=("env", "SSH_AUTH_SOCK=/no/agent"),
    ),
    "A file that a person saved": Case((0, 2, 0, 1, 0), f"{_TAKEN}; test $(cat src/c.txt) = c; {_OVER}"),
    "What is not merged by lines": Case(
        (0, 2, 0, 0),
        f'test $(cat c.txt) = c; test "$(tail -n 1 src/b.txt)" = more; test $(stat -c %a run.sh) = 755; test $(cat to.txt) = mine; {_OVER}',
        "echo x > to.txt; echo x > run.sh; chmod 644 run.sh",
    ),
    "Conflict markers that an update left": Case(
        (0, 1, 2, 0, 2, 0, 2), f'test "$(tr "\\n" - < a.txt)" = mine-two-; {_OVER}'
    ),
    "What a rule denies": Case((0, 2, 1, 0), "test $(cat a.txt) = two; test ! -e .env"),
    "A check that does not pass": Case((0, 2, 0, 0), f"test $(cat a.txt) = three; {_OVER}"),
    "A file that a call changed": Case(
        (0, 0, 2, 0, 0, 0, 0), f"grep mine a.md; grep two a.md; ! grep one a.md; {_OVER}"
    ),
    "A program whose changes were to be kept": Case((2, 1, 0), f"{_TAKEN}; test ! -e .git/hooks/pre-commit; {_OVER}"),
    "Sockets, FIFOs and devices": Case((0, 0, 0, 0, 0), f"{_TAKEN}; test -p pipe; test ! -e old; {_OVER}"),
    "wink's own state": Case((0, 0, 0), f"{_TAKEN}; test $(cat lib/wink/x) = x; test ! -e lib/.wink; {_OVER}"),
    "Setuid and setgid bits": Case((0, 0), f"test -u run; {_OVER}"),
    "Extended attributes of a directory": Case((0, 0), f"{_TAKEN}; {_OVER}"),
    "What is written to the home": Case((0, 0, 0, 0), f"{_TAKEN}; grep x note; test ! -e ~/note; {_OVER}"),
    "Temporary files that cannot be shown": Case(
        (0, 0, 0), _TAKEN, around=_without("mount -t tmpfs none $(mktemp -d -p /tmp)")
    ),
    "A file of an agent that is no plain file": Case(
        (0, 0, 0, 0), f"{_IN}token; test $(ls ~/.claude/projects/-p) = d.jsonl; {_OVER}", _CHATS
    ),
    "A file that was changed in the home meanwhile": Case(
        (0, 0, 0, 0, 0), f"{_IN}tried; test $(stat -c %a ~/.claude/.credentials.json) = 600; {_OVER}", _LOGIN
    ),
    "A directory of the home that was deleted and made anew": Case((0, 0, 0), f"{_IN}two; {_OVER}", _LOGIN),
    "A link in the home": Case(
        (0, 0, 0),
        f"{_IN}two; test -L ~/.claude; {_OVER}",
        "mkdir ~/dots; echo one > ~/dots/.credentials.json; ln -s dots ~/.claude",
    ),
    "A file of the home that somebody executes": Case(
        (0, 0, 0), f"{_IN}two; {_OVER}", f"{_LOGIN}; chmod 700 ~/.claude/.credentials.json"
    ),
    "Too much for the home at once": Case(
        (0, 0, 0, 0),
        "cd ~/.claude/projects/-p; test $(ls | wc -l) = 1002; test $(stat -c %a-%s large.jsonl) = 600-68157440",
        _CHATS,
    ),
    "A name that is not kept in the home": Case(
        (0, 0), f"test \"$(cd ~/.claude/projects/-p; echo *)\" = 'b.jsonl chats'; {_OVER}", _CHATS
    ),
    "An entry of persist that is refused": Case((2, 0), f"grep two ~/.tool/token; {_OVER}", _SETTINGS),
    "What is no list of entries": Case((2, 0), f"grep two ~/.token; {_OVER}", _SETTINGS),
    "An entry of hide that is refused": Case((2, 0), _OVER, _SETTINGS),
    "More than rules can hide": Case(
        (2, 0), _OVER, f"{_SETTINGS}; mkdir keys; cd keys; seq 1001 | sed 's/$/.env/' | xargs touch"
    ),
    "An entry of persist in the workspace": Case((0, 0), f"grep two ~/.token; {_OVER}"),
    "A host that is not listed": Case((0, 0, 0), f"{_TAKEN}; {_OVER}"),
    "A program that heeds no proxy": Case((7, 0, 0), f"{_TAKEN}; {_OVER}"),
    "A host that nobody is asked about": Case((0, 0, 0), f"{_TAKEN}; {_OVER}", around=("setsid", "--wait")),
    "Hosts and no network at once": Case((2, 2, 2, 0, 0), f"{_TAKEN}; {_OVER}"),
    "An entry that is no host": Case((2, 2, 0, 0), f"{_TAKEN}; {_OVER}", _SETTINGS),
    "What is no list of hosts": Case((2, 0, 0), f"{_TAKEN}; {_OVER}", _SETTINGS),
    "Hosts that the workspace adds": Case((0, 0, 0), f"{_TAKEN}; {_OVER}", _SETTINGS),
    "Links that lead out": Case((0, 0, 0), f"test -L up; test ! -L root; test ! -L src/1; {_OVER}"),
    "What decides what is loaded next": Case(
        (0, 0, 0),
        f"test -e aux; test ! -L wink.toml; test ! -e src/x-*; {_OVER}",
        around=("sh", "-c", 'PYTHONPATH=src:$PYTHONPATH exec "$@"', "sh"),
    ),
    "Nothing is being tried": Case((2, 2, 2, 0, 0), f"{_TAKEN}; {_OVER}"),
    "Several tries, or none of that name": Case((0, 0, 2, 2, 0, 0), f"{_TAKEN}; {_OVER}"),
    "A path at which nothing was tried": Case((0, 2, 2, 0), f"{_TAKEN}; {_OVER}"),
    "A part of what was deleted": Case((0, 2, 0, 0, 0), f"test ! -e src; {_OVER}"),
    "A try in which a program runs": Case((2, 2, 2, 0, 0, 0), f"{_TAKEN}; wink tries | grep short", _LONG),
    "Nothing that was dropped": Case((2, 0, 0, 2, 2, 0, 0, 0), f"{_TAKEN}; {_OVER}"),
    "Hunks without a terminal": Case((0, 2, 2, 2, 0), f"{_TAKEN}; {_OVER}"),
    "Something else in the place of a try": Case(
        (1, 0, 0),
        f"{_TAKEN}; {_OVER}; ls -A ~ && test ! -e ~/a.txt",
        "wink try -- touch x; rm -r .wink/*/tries/default/upper; ln -s ~ $(echo .wink/*/tries/default)/upper",
    ),
    "No such program": Case((2, 2, 2, 2, 127), _OVER),
    "No bubblewrap": Case((2, 1, 0, 0), f"{_TAKEN}; {_OVER}", around=_without("mount --bind /dev/null /usr/bin/bwrap")),
    "No user namespaces": Case((2, 1), _OVER, around=_without("echo 0 > /proc/sys/user/max_user_namespaces")),
    "A mount in the workspace": Case((2, 0), _OPEN, around=_without("mount -t tmpfs none src")),
    "A mount in the home": Case((2, 0, 0), _TAKEN, "mkdir ~/disk", around=_without("mount -t tmpfs none ~/disk")),
    "Options that confine, with --unconfined": Case((2, 0, 0), f"{_TAKEN}; {_OVER}"),
    "Files of the home, on a copy": Case(
        (0, 0, 0), "test $(cat ../upper/a.txt) = two; ! ls -d ~/.claude", around=_without(_ON_OVERLAY)
    ),
    "An empty home, on a copy": Case(
        (0, 0, 0), f"{_TAKEN}; test -e begun; {_OVER}", "mkdir ~/disk", around=_without("mount -t tmpfs none ~/disk")
    ),
    "What is not in a copy": Case(
        (0, 0, 0), f"{_TAKEN}; test $(cat secret)$(cat b.txt) = xx; {_OVER}", _DEEP, around=_as_ordinary()
    ),
    "What would take the place of something that is not in the copy": Case(
        (0, 2, 1, 0),
        f"{_TAKEN}; chmod u+r secret; test $(cat secret) = x; {_OVER}",
        "echo x > secret; chmod 0 secret",
        around=_as_ordinary(),
    ),
    "A link that leads out of an unconfined copy": Case((0, 0), f"{_TAKEN}; test -L up; {_OVER}", "ln -s .. up"),
    "Something beside an unconfined copy": Case((2, 0), f"{_TAKEN}; {_OVER}"),
    "wink in an unconfined copy": Case((2, 0, 0), f"{_TAKEN}; {_OVER}"),
    "A git directory elsewhere, unconfined": Case(
        (128, 0), f"{_COMMITTED}; {_OVER}", "git worktree add -q ../feature", where="../feature"
    ),
    "A directory that is not in the copy": Case(
        (0, 2, 0, 0, 0), f"{_TAKEN}; test -e src/b.txt; test ! -e ~/x; {_OVER}"
    ),
    "A copy that is gone": Case((2, 2, 0, 0, 0, 0), f"{_TAKEN}; {_OVER}"),
    "A filesystem that cannot keep what was deleted": Case(
        (2, 0, 0), "test $(cat ~/project/a.txt) = two; test $(cat a.txt) = one", around=_without(_ON_RAM)
    ),
    "No setsid": Case((2, 0, 0), _TAKEN, around=_without("mount --bind /dev/null /usr/bin/setsid")),
}
