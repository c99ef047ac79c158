"""The attacks, as a program that runs inside the sandbox: `python attacks.py CLASS`, told by `facts.json` what is outside.

Each attack is a function that gives a true value where it got what it must not get. It prints `ESCAPED` and what that was.
It imports nothing but the standard library.
"""

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time

FACTS = {}
LIBC = ctypes.CDLL(None, use_errno=True)
CALLS = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)
ATTACKS = {}


def attack(group):
    """Add a function to a class of attacks."""

    def add(function):
        ATTACKS.setdefault(group, []).append(function)
        return function

    return add


def call(x86_64, aarch64, *arguments):
    """A system call by its number on this machine; gives the error's number, 0 where it worked."""
    if CALLS is None:
        return errno.ENOSYS
    ctypes.set_errno(0)
    return ctypes.get_errno() if LIBC.syscall((x86_64, aarch64)[CALLS], *arguments) < 0 else 0


def wrote(path, flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND):
    """Whether a file can be opened for writing, and takes a letter."""
    try:
        fd = os.open(path, flags, 0o644)
    except OSError:
        return False
    try:
        return os.write(fd, b"x") == 1
    except OSError:
        return False
    finally:
        os.close(fd)


def read(path):
    """What is in a file; nothing where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(100_000)
    except OSError:
        return b""


def connects(family, kind, address):
    """Whether somebody answers there."""
    try:
        with socket.socket(family, kind) as made:
            made.settimeout(2)
            made.connect(address)
            made.sendall(b"let me out")
            return made.recv(100)
    except OSError:
        return b""


# -- network


@attack("network")
def host_over_tcp():
    return any(
        connects(socket.AF_INET, socket.SOCK_STREAM, (host, FACTS["tcp"])) for host in ("127.0.0.1", FACTS["ip"])
    )


@attack("network")
def host_over_udp():
    return any(connects(socket.AF_INET, socket.SOCK_DGRAM, (host, FACTS["udp"])) for host in ("127.0.0.1", FACTS["ip"]))


@attack("network")
def abstract_socket_of_the_host():
    return connects(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + FACTS["abstract"])


@attack("network")
def names_of_hosts():
    try:
        return socket.gethostbyname("example.org")
    except OSError:
        return False


@attack("network")
def interfaces_besides_loopback():
    return [name for _, name in socket.if_nameindex() if name != "lo"]


@attack("sockets")
def socket_by_its_path():
    return any(connects(socket.AF_UNIX, socket.SOCK_STREAM, path) for path in FACTS["sockets"])


@attack("sockets")
def somebody_who_reads_a_fifo():
    try:
        return os.write(os.open(FACTS["fifo"], os.O_WRONLY | os.O_NONBLOCK), b"escaped")
    except OSError:
        return False


@attack("sockets")
def engines_and_buses():
    places = (
        "docker.sock",
        "podman/podman.sock",
        "containerd/containerd.sock",
        "dbus/system_bus_socket",
        "systemd/private",
    )
    return any(
        connects(socket.AF_UNIX, socket.SOCK_STREAM, f"{run}/{at}") for run in ("/run", "/var/run") for at in places
    )


@attack("sockets")
def families_that_know_no_namespace():
    opened = []
    for family in (40, 38, 31, 42, 15, 39, 29, 17, 30):  # vsock, alg, bluetooth, qipcrtr, key, nfc, can, packet, tipc
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
            try:
                socket.socket(family, kind).close()
                opened.append(family)
            except OSError:
                pass
    return opened


@attack("sockets")
def raw_packets():
    for family, kind in ((socket.AF_INET, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW)):
        try:
            socket.socket(family, kind, 1).close()
            return True
        except OSError:
            pass
    return False


# -- writing outside


@attack("outside")
def absolute_paths():
    return [path for path in FACTS["write"] if wrote(path)]


@attack("outside")
def links_in_the_workspace():
    got = []
    for number, path in enumerate(FACTS["write"]):
        os.symlink(path, f"link{number}")
        got += [path] if wrote(f"link{number}") else []
        os.unlink(f"link{number}")
    return got


@attack("outside")
def link_that_was_there_before():
    return wrote("leads-out", os.O_WRONLY | os.O_APPEND) or wrote("directory-out/planted")


@attack("outside")
def hard_links():
    for path in FACTS["write"]:
        try:
            os.link(path, "hard")
            os.unlink("hard")
            return path
        except OSError:
            pass
    return False


@attack("outside")
def up_and_out():
    return [path for path in FACTS["write"] if wrote("../" * 40 + path.lstrip("/"))]


@attack("outside")
def other_processes_roots_and_descriptors():
    got = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        got += [
            pid
            for path in FACTS["write"]
            if wrote(f"/proc/{pid}/root{path}") or wrote(f"/proc/{pid}/cwd/{'../' * 20}{path}")
        ]
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for number in numbers:
            if int(pid) == os.getpid() and int(number) < 3:
                continue  # what we were given to read and write
            got += [number for path in FACTS["write"] if wrote(f"/proc/{pid}/fd/{number}{path}")]
            got += [number for up in range(1, 9) if wrote(f"/proc/{pid}/fd/{number}/{'../' * up}tmp/planted")]
    return got


@attack("outside")
def inherited_descriptors():
    kept = []
    for number in range(3, 256):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if not target.startswith(("/proc/", "anon_inode:[event")):
            kept.append(target)
    return kept


@attack("outside")
def what_stdin_was_opened_for():
    wrote("/proc/self/fd/0", os.O_WRONLY | os.O_TRUNC)
    return False  # whoever gave us the file looks at it


@attack("outside")
def settings_of_the_kernel():
    got = []
    for path in ("kernel/core_pattern", "kernel/modprobe", "vm/swappiness", "kernel/printk", "fs/suid_dumpable"):
        try:
            with open(f"/proc/sys/{path}") as file:
                value = file.read()
            with open(f"/proc/sys/{path}", "w") as file:
                file.write(value)
            got.append(path)
        except OSError:
            pass
    for above, _, names in os.walk("/sys"):
        got += [f"{above}/{name}" for name in names if os.access(f"{above}/{name}", os.W_OK)]
    return got or os.access("/proc/mtrr", os.W_OK)


@attack("outside")
def devices():
    import stat

    made = []
    for name, number in (("null", (1, 3)), ("memory", (1, 1)), ("disk", (254, 0)), ("whiteout", (0, 0))):
        for kind in (stat.S_IFCHR, stat.S_IFBLK):
            for at in (".", "/tmp", "/dev/shm"):
                try:
                    os.mknod(f"{at}/node-{name}", kind | 0o666, os.makedev(*number))
                    if number != (0, 0) and wrote(f"{at}/node-{name}", os.O_RDWR):
                        made.append(name)
                    os.unlink(f"{at}/node-{name}")
                except OSError:
                    pass
    return made or [name for name in os.listdir("/dev") if name.startswith(("sd", "vd", "nvme", "mem", "kmsg", "loop"))]


# -- reading what is private


@attack("private")
def secrets_by_their_paths():
    return [path for path in FACTS["secrets"] if FACTS["secret"].encode() in read(path)]


@attack("private")
def secrets_through_links():
    got = []
    for number, path in enumerate(FACTS["secrets"]):
        os.symlink(path, f"secret{number}")
        got += [path] if FACTS["secret"].encode() in read(f"secret{number}") else []
        os.unlink(f"secret{number}")
    return got


@attack("system")
def passwords_and_keys_of_the_system():
    places = ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/sudoers", "/etc/security/opasswd"]
    for above, _, names in os.walk("/etc/ssl/private"):
        places += [f"{above}/{name}" for name in names]
    return [path for path in places if read(path)] + [path for path in FACTS["roots_own"] if read(path)]


@attack("private")
def environment_of_others():
    return any(FACTS["variable"].encode() in read(f"/proc/{pid}/environ") for pid in [*os.listdir("/proc"), "self"])


@attack("system")
def processes_of_the_host():
    pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return [pid for pid in pids if FACTS["marker"].encode() in read(f"/proc/{pid}/cmdline")] or len(pids) > 20


@attack("system")
def keys_of_the_kernel():
    return call(250, 219, 0, -3, 0) == 0 or call(250, 219, 0, -4, 0) == 0 or read("/proc/keys")


@attack("system")
def messages_of_the_kernel():
    buffer = ctypes.create_string_buffer(4096)
    return call(103, 116, 3, buffer, 4096) == 0 or read("/dev/kmsg")


@attack("system")
def shared_memory_of_the_host():
    found = subprocess.run(["ipcs", "-m"], capture_output=True, text=True, check=False).stdout
    return any(line.split()[0].startswith("0x") for line in found.splitlines() if line.split()) or os.listdir(
        "/dev/shm"
    )


# -- other processes


@attack("processes")
def signals():
    got = []
    for pid in (FACTS["victim"], FACTS["parent"], -FACTS["victim"], -FACTS["parent"]):
        try:
            os.kill(pid, signal.SIGKILL)
            got.append(pid)
        except OSError:
            pass
    return got


@attack("processes")
def tracing():
    return call(101, 117, 16, FACTS["victim"], 0, 0) == 0  # PTRACE_ATTACH


@attack("processes")
def descriptors_and_memory_of_processes():
    return call(434, 434, FACTS["victim"], 0) == 0 or read(f"/proc/{FACTS['victim']}/maps")


@attack("processes")
def typing_into_the_terminal():
    typed = []
    for place in (0, 1, 2, "/dev/tty"):
        try:
            fd = os.open(place, os.O_RDWR) if isinstance(place, str) else place
            fcntl.ioctl(fd, 0x5412, b"x")
            typed.append(place)
        except OSError:
            pass
        try:
            fcntl.ioctl(fd if isinstance(place, int) else 0, 0x541C, b"\x03")
            typed.append(place)
        except OSError:
            pass
    return typed


@attack("processes")
def end_of_everything_in_reach():
    # The first process of the sandbox is its kernel's init: it takes no signal from within.
    try:
        os.kill(1, signal.SIGKILL)
    except OSError:
        pass
    return False


@attack("processes")
def first_process_of_the_sandbox():
    # Stopped, robbed or rewritten it would never tell that the program is over, and whoever waits would wait for ever.
    calls = {
        "attach": (101, 117, 16, 1, 0, 0),
        "seize": (101, 117, 0x4206, 1, 0, 0),
        "attach, with a number that is cut off": (101, 117, 16, ctypes.c_long(1 << 32 | 1), 0, 0),
        "read": (310, 270, 1, 0, 0, 0, 0, 0),
        "write": (311, 271, 1, 0, 0, 0, 0, 0),
        "descriptors": (434, 434, 1, 0),
    }
    got = [name for name, words in calls.items() if call(*words) == 0]
    for path in ("/proc/1/mem", "/proc/1/task/1/mem"):
        for flags in (os.O_RDONLY, os.O_RDWR):
            try:
                os.close(os.open(path, flags))
                got.append(path)
            except OSError:
                pass
    return got


# -- doors of the kernel


@attack("kernel")
def calls_that_must_fail():
    path = ctypes.create_string_buffer(b"/tmp")
    kept = ctypes.create_string_buffer(512)
    doors = {
        "mount": (165, 40, path, path, ctypes.create_string_buffer(b"tmpfs"), 0, 0),
        "umount": (166, 39, ctypes.create_string_buffer(os.getcwd().encode() + b"/.wink"), 2),
        "pivot_root": (155, 41, path, path),
        "unshare user": (272, 97, 0x10000000),
        "unshare mounts": (272, 97, 0x20000),
        "unshare network": (272, 97, 0x40000000),
        "setns": (308, 268, os.open("/proc/1/ns/mnt", os.O_RDONLY) if os.access("/proc/1/ns/mnt", os.R_OK) else -1, 0),
        "clone into a user namespace": (56, 220, 0x10000000 | 17, 0, 0, 0, 0),
        "clone3": (435, 435, kept, 88),
        "chroot": (161, 51, path),
        "open_tree": (428, 428, -100, path, 1),
        "fsopen": (430, 430, ctypes.create_string_buffer(b"tmpfs"), 0),
        "mount_setattr": (442, 442, -100, path, 0, kept, 32),
        "open_by_handle_at": (304, 265, -100, kept, 0),
        "add_key": (248, 217, path, path, path, 1, -4),
        "keyctl": (250, 219, 1, 0),
        "bpf": (321, 280, 0, kept, 72),
        "perf_event_open": (298, 241, kept, 0, -1, -1, 0),
        "userfaultfd": (323, 282, 1),
        "io_uring_setup": (425, 425, 4, kept),
        "init_module": (175, 105, kept, 512, path),
        "finit_module": (313, 273, 0, path, 0),
        "kexec_load": (246, 104, 0, 0, 0, 0),
        "reboot": (169, 142, 0xFEE1DEAD, 672274793, 0x89ABCDEF, 0),
        "swapon": (167, 224, path, 0),
        "acct": (163, 89, path),
        "settimeofday": (164, 170, kept, 0),
        "sethostname": (170, 161, path, 4),
    }
    return [name for name, words in doors.items() if call(*words) == 0]


@attack("kernel")
def another_numbering():
    # i386's numbers, and x32's: other tables, the same kernel.
    return CALLS == 0 and call(0x40000000 | 272, 97, 0x10000000) == 0


@attack("kernel")
def namespaces_of_tools():
    tools = (["unshare", "-Ur", "true"], ["unshare", "-m", "true"], ["bwrap", "--bind", "/", "/", "true"])
    return [words for words in tools if subprocess.run(words, capture_output=True, check=False).returncode == 0]


@attack("kernel")
def rights_from_files():
    got = []
    subprocess.run(["cp", "/usr/bin/id", "mine"], check=True)
    os.chmod("mine", 0o6755)
    uid = os.stat("mine").st_uid
    if uid != os.getuid():
        got.append("owner")
    said = subprocess.run(["./mine", "-u"], capture_output=True, text=True, check=False).stdout.strip()
    got += [said] if said not in ("", str(os.getuid())) else []
    for value in (b"\x01\x00\x00\x02" + b"\xff" * 16, b"\x01\x00\x00\x03" + b"\xff" * 16 + b"\0" * 4):
        try:
            os.setxattr("mine", "security.capability", value)
            got.append("capability")
        except OSError:
            pass
    os.unlink("mine")
    rights = [line.split()[1] for line in read("/proc/self/status").decode().splitlines() if line.startswith("CapEff")]
    # CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID within the sandbox, and no more.
    return got or int(rights[0], 16) & ~0xFB


# -- wink's own


@attack("state")
def forged_state():
    got = []
    for name in ("record.db", "wal/1", "tries/x/try.json", "programs/x/upper/f", "lease", "scratch/f"):
        try:
            os.makedirs(os.path.dirname(f".wink/{name}"), exist_ok=True)
        except OSError:
            pass
        got += [name] if wrote(f".wink/{name}") else []
    for words in (
        ("mv", ".wink", "gone"),
        ("rm", "-rf", ".wink"),
        ("ln", "-sfn", "/tmp", ".wink"),
        ("mv", "src", ".wink/src"),
    ):
        subprocess.run(words, capture_output=True, check=False)
    return got or os.listdir(".wink") or os.path.islink(".wink")


@attack("state")
def marks_of_the_overlay():
    got = []
    os.makedirs("marked", exist_ok=True)
    for name, value in (
        ("redirect", b"/../../.."),
        ("opaque", b"y"),
        ("whiteout", b""),
        ("metacopy", b""),
        ("origin", b"x"),
    ):
        for prefix in ("trusted.overlay.", "user.overlay."):
            try:
                os.setxattr("marked", prefix + name, value)
                got += [prefix + name] if prefix.startswith("trusted") else []
            except OSError:
                pass
    return got


# -- staying


@attack("survive")
def stay():
    marker = FACTS["marker"] + "-stays"
    words = [sys.executable, "-c", "import time; time.sleep(300)", marker]
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            if os.fork() == 0:
                null = os.open("/dev/null", os.O_RDWR)
                for fd in range(3):
                    os.dup2(null, fd)
                os.execv(words[0], words)
            os._exit(0)
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["nohup", *words], **quiet)
    for tool in (["systemd-run", "--user", *words], ["at", "now"], ["crontab", "-"]):
        try:
            subprocess.run(tool, timeout=5, check=False, **quiet)
        except (OSError, subprocess.TimeoutExpired):
            pass
    time.sleep(0.1)  # they are there when we leave
    return False


def main():
    """Try every attack of a class."""
    with open("facts.json") as file:
        FACTS.update(json.load(file))
    for function in ATTACKS[sys.argv[1]]:
        try:
            got = function()
        except Exception as error:
            print("FAILED", function.__name__, type(error).__name__, error)
            continue
        print(f"ESCAPED {function.__name__}: {got!r:.300}" if got else f"held {function.__name__}", flush=True)


if __name__ == "__main__":
    main()
