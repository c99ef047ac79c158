"""What an agent's hook runs: hands the event to the workspace's helper, and prints its answer.

It is copied out of this package and run with `-I -S`, so it imports only what is built into Python. Whatever happens, it answers
within its time. Where no helper can be reached and rules deny or ask in the workspace, a call is denied; otherwise it runs.
"""

# pyright: basic, reportMissingImports=false

import _signal
import _socket
import posix
import sys
from time import sleep

known = {"python": "", "flags": [], "run": "", "marks": "", "homes": []}  # those of this machine, where it is installed
SECONDS = 20
MOST = 64 << 20
FIRST = (b"SessionStart", b"UserPromptSubmit", b"BeforeAgent")
BEFORE = (b"PreToolUse", b"BeforeTool", b"before")
KEPT = (
    b"PATH", b"HOME", b"USER", b"LOGNAME", b"LANG", b"LC_ALL", b"TZ", b"TMPDIR",
    b"XDG_STATE_HOME", b"XDG_CONFIG_HOME", b"XDG_RUNTIME_DIR", b"XDG_DATA_HOME", b"XDG_CACHE_HOME",
)  # fmt: skip


class Unreachable(Exception):
    """No answer can be had."""


def main(arguments):
    """Answer one event; gives the exit status."""
    agent, event = arguments[1].encode("utf-8", "surrogateescape"), arguments[2].encode("utf-8", "surrogateescape")
    is_chosen = len(arguments) > 3
    root = arguments[3] if is_chosen else _here()
    mark, is_odd = known["marks"] + "/" + _identity(root), False

    def too_late(*_):
        posix._exit(_without(mark, event, f"it did not answer in {SECONDS} seconds"))

    _signal.signal(_signal.SIGALRM, too_late)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # whoever ignores it hears of no child's end
    _signal.alarm(SECONDS)
    try:
        payload = _payload()
        is_odd = _is_odd(root, is_chosen)
        if is_odd and event not in FIRST:
            return _without(
                mark, event, "no helper works here"
            )  # why, and whether rules deny, was told at the first events
        pid = posix.environ.get(b"CLAUDE_PID", b"")
        status, answer = _asked(root, is_chosen, [agent, event, root.encode("utf-8", "surrogateescape"), pid, payload])
    except (Unreachable, OSError) as error:
        if is_odd and event == b"SessionStart":
            posix.write(2, f"wink keeps and judges nothing here: {error}\n".encode("utf-8", "backslashreplace"))
            return 1  # which no agent stops for, and shows to its user
        return _without(mark, event, str(error))
    while answer:
        answer = answer[posix.write(2 if status else 1, answer) :]
    return status


def _here():
    """Where the agent works, as it says itself or as the hook is started."""
    given = posix.environ.get(b"CLAUDE_PROJECT_DIR", b"").decode("utf-8", "surrogateescape")
    if given[:1] == "/":
        posix.chdir(given)
    return posix.getcwd()  # with no link in it, as the helper knows it


def _identity(root):
    from _blake2 import blake2b

    return blake2b(root.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()


def _is_odd(root, is_chosen):
    """Whether no helper works in a directory: it holds more than a project, or is another user's; the helper says the same."""
    beneath = root.rstrip("/") + "/"
    return any((home + "/").startswith(beneath) for home in known["homes"]) or (
        not is_chosen and posix.lstat(root).st_uid != posix.geteuid()
    )


def _payload():
    chunks, size = [], 0
    while chunk := posix.read(0, 1 << 20):
        size += len(chunk)
        if size > MOST:
            raise Unreachable(f"what the agent told of the call is longer than {MOST} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _asked(root, is_chosen, parts):
    directory = known["run"]
    _check(directory)
    socket = _connected(directory + "/" + _identity(root), root, is_chosen)
    for part in parts:
        _send(socket, len(part).to_bytes(4, "big") + part)
    head = _received(socket, 5)
    return head[0], _received(socket, int.from_bytes(head[1:], "big"))


def _check(directory):
    """Raise where the directory of sockets is not this user's alone."""
    try:
        posix.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    found = posix.lstat(directory)
    if found.st_mode & 0o170777 != 0o040700 or found.st_uid != posix.geteuid():
        raise Unreachable(f"{directory} is not a directory of yours alone")


def _connected(place, root, is_chosen):
    """A connection to the helper, which is started if need be."""
    started = 0
    while True:
        socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        try:
            socket.connect(place + ".sock")
        except (FileNotFoundError, ConnectionRefusedError):
            socket.close()
            if started:
                ended, status = posix.waitpid(started, posix.WNOHANG)
                if ended and status:
                    raise Unreachable(f"it cannot be started: {_last_line(place + '.log')}") from None
                started = 0 if ended else started  # another one is at work, or was when this one looked
            started = started or _start(place, root, is_chosen)
            sleep(0.01)
            continue
        theirs = socket.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(theirs[4:8], sys.byteorder) != posix.geteuid():
            raise Unreachable(f"another user's process answers at {place}.sock")
        return socket


def _last_line(path):
    """What a helper that could not start has said last."""
    log = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    posix.lseek(log, -min(posix.fstat(log).st_size, 600), 2)
    lines = posix.read(log, 600).decode("utf-8", "replace").splitlines()
    return "".join(one if one.isprintable() else "?" for one in (lines or ["it said nothing"])[-1])


def _start(place, root, is_chosen):
    """Start a helper that outlives this process, with nothing of the agent's environment but where this user's things are."""
    command = [known["python"], *known["flags"], "-m", "wink_attach", *([] if is_chosen else ["--user"]), root]
    environment = {name: posix.environ[name] for name in KEPT if name in posix.environ}
    log = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW
    files = [
        (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
        (posix.POSIX_SPAWN_OPEN, 1, "/dev/null", posix.O_WRONLY, 0),
        (posix.POSIX_SPAWN_OPEN, 2, place + ".log", log, 0o600),
    ]
    return posix.posix_spawn(command[0], command, environment, file_actions=files, setsid=True)


def _send(socket, data):
    while data:
        data = data[socket.send(data) :]


def _received(socket, size):
    data = b""
    while len(data) < size:
        more = socket.recv(size - len(data))
        if not more:
            raise Unreachable("it ended while it was asked")
        data += more
    return data


def _without(mark, event, reason):
    """The exit status without a helper: 2, with the reason, where rules deny or ask, or where the helper cannot tell what it
    finds there; a call that nobody judged is no call then."""
    _signal.alarm(0)
    if event not in BEFORE:
        return 0
    try:
        noted = posix.open(mark, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    except OSError:
        return 0
    why = posix.read(noted, 4096)
    told = f"wink has rules for this workspace, and its helper cannot be reached: {reason}".encode(
        "utf-8", "backslashreplace"
    )
    posix.write(2, (why or told) + b"; tell the user to run `wink doctor`\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
