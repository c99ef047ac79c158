"""Ways to read what is hidden, tried from inside: each prints whether it `held` or READ the secret.

Run as `python readers.py SECRET`, with Python alone, in a workspace with `.env`, `conf/key.pem`, `secrets/k`, `hard`, `soft` and `deep`.
"""

import ctypes
import mmap
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys

SECRET = "".join(sys.argv[1:2]).encode()
HIDDEN = (".env", "conf/key.pem", "secrets/k")
HERE = os.getcwd()
libc = ctypes.CDLL(None, use_errno=True)
WAYS = []


def way(function):
    WAYS.append(function)
    return function


def read(path, **more):
    with open(os.open(path, os.O_RDONLY, **more), "rb") as file:
        return file.read()


def all_of(path):
    """Whatever can be read beneath a path, with names."""
    found = [path.encode()]
    for above, _, names in os.walk(path):
        for name in names:
            try:
                if stat.S_ISREG(os.lstat(f"{above}/{name}").st_mode):
                    found.append(read(f"{above}/{name}"))
            except OSError:
                pass
    return b"\n".join(found)


def every(function):
    """What one way gives for each hidden file."""
    found = []
    for path in HIDDEN:
        try:
            found.append(function(path) or b"")
        except (OSError, shutil.Error, subprocess.SubprocessError):
            pass
    return b"\n".join(found)


def said(*words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False, **more)
    return done.stdout


@way
def plainly():
    return every(read)


@way
def by_a_shell():
    return said("sh", "-c", "cat .env conf/* secrets/* hard soft deep/*; . ./.env; sh .env; head -c99 < .env")


@way
def by_other_spellings():
    return every(lambda path: b"".join(read(f"{HERE}/{way}{path}") for way in ("./", ".//", "conf/../", "src/.././")))


@way
def by_case():
    return every(lambda path: read(path.upper()))


@way
def by_a_link_that_was_there():
    return b"".join(read(path) for path in ("soft", "deep/key.pem"))


@way
def by_a_new_link():
    def through(path):
        os.symlink(f"{HERE}/{path}", "new-link")
        try:
            return read("new-link")
        finally:
            os.unlink("new-link")

    return every(through)


@way
def by_a_hard_link_that_was_there():
    return read("hard")


@way
def by_a_new_hard_link():
    def through(path):
        os.link(path, "new-hard")
        return read("new-hard")

    return every(through)


@way
def by_linking_a_descriptor():
    def through(path):
        fd = os.open(path, os.O_PATH)
        os.link(f"/proc/self/fd/{fd}", "from-fd", follow_symlinks=True)
        return read("from-fd")

    return every(through)


@way
def by_proc_self_root():
    return every(lambda path: read(f"/proc/self/root{HERE}/{path}"))


@way
def by_the_first_process():
    return every(lambda path: read(f"/proc/1/root{HERE}/{path}") + read(f"/proc/1/cwd/{path}"))


@way
def by_proc_self_cwd():
    return every(lambda path: read(f"/proc/self/cwd/{path}"))


@way
def by_a_directory_descriptor():
    fd = os.open(".", os.O_RDONLY)
    return every(lambda path: read(path, dir_fd=fd) + read(f"/proc/self/fd/{fd}/{path}"))


@way
def by_descriptors_that_came_along():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for kind in ("fd", "map_files"):
            try:
                names = os.listdir(f"/proc/{pid}/{kind}")
            except OSError:
                continue
            for name in names:
                place = f"/proc/{pid}/{kind}/{name}"
                try:
                    mode = os.stat(place).st_mode
                    if stat.S_ISREG(mode):
                        with open(place, "rb") as file:
                            found.append(file.read(1 << 20))
                    elif stat.S_ISDIR(mode):
                        found += [read(f"{place}/{path}") for path in HIDDEN if os.path.exists(f"{place}/{path}")]
                except OSError:
                    pass
    return b"".join(one for one in found if b"Ways to read what is hidden" not in one)


@way
def by_a_new_name():
    def through(path):
        os.rename(path, "renamed")
        try:
            return read("renamed")
        finally:
            os.rename("renamed", path)

    return every(through)


@way
def by_a_new_name_of_the_directory():
    found = b""
    for name in ("conf", "secrets"):
        try:
            os.rename(name, f"{name}-moved")
        except OSError:
            continue
        found += all_of(f"{name}-moved")
        os.rename(f"{name}-moved", name)
    return found


@way
def by_exchanging_names():
    open("mine", "w").close()

    def through(path):
        number = 316 if os.uname().machine == "x86_64" else 276
        libc.syscall(number, -100, path.encode(), -100, b"mine", 2)
        try:
            return read("mine")
        finally:
            libc.syscall(number, -100, path.encode(), -100, b"mine", 2)

    return every(through)


@way
def by_deleting_what_lies_over_it():
    def through(path):
        os.unlink(path)
        return read(path)

    return every(through) + every(lambda path: shutil.rmtree(os.path.dirname(path) or "nothing") or read(path))


@way
def by_copying_trees():
    shutil.copytree(".", "/dev/shm/copied", symlinks=True, ignore=shutil.ignore_patterns("readers.py"))
    return all_of("/dev/shm/copied")


@way
def by_an_archive():
    return said("tar", "cf", "-", "--exclude", "readers.py", ".")


@way
def by_unmounting():
    def through(path):
        for flags in (0, 1, 2, 8):
            libc.umount2(path.encode(), flags)
        return read(path)

    return every(through) + all_of("secrets")


@way
def by_mounting_the_workspace_elsewhere():
    os.makedirs("/dev/shm/there", exist_ok=True)
    libc.mount(HERE.encode(), b"/dev/shm/there", None, 4096, None)
    return all_of("/dev/shm/there")


@way
def by_cloning_the_mount():
    found = b""
    for flags in (1, 1 | 0x8000):
        fd = libc.syscall(428, -100, HERE.encode(), flags)
        if fd >= 0:
            found += every(lambda path, fd=fd: read(path, dir_fd=fd))
    return found


@way
def by_namespaces_of_ones_own():
    script = "umount -l .env conf/key.pem secrets; cat .env conf/key.pem secrets/k; mkdir /dev/shm/m; mount --bind . /dev/shm/m; cat /dev/shm/m/.env"
    return said("unshare", "-rm", "sh", "-c", script) + said("unshare", "-m", "sh", "-c", script)


@way
def by_another_root():
    os.makedirs("/dev/shm/root", exist_ok=True)
    pid = os.fork()
    if not pid:
        try:
            os.chroot("/proc/1/root")
            os.write(1, read(f"{HERE}/.env"))
        except OSError:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
    return b""  # the parent reads what was written


@way
def by_entering_namespaces():
    found = b""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fd = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
        except OSError:
            continue
        libc.setns(fd, 0)
        found += every(read)
    return found


@way
def by_handles():
    found = b""
    for path in (*HIDDEN, "."):
        handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
        number = ctypes.c_int()
        if libc.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(number), 0) == 0:
            at = os.open(".", os.O_RDONLY)
            fd = libc.open_by_handle_at(at, handle, os.O_RDONLY)
            if fd >= 0 and path != ".":
                found += os.read(fd, 1000)
    return found


@way
def by_io_uring():
    parameters = ctypes.create_string_buffer(120)
    assert libc.syscall(425, 4, parameters) < 0, "io_uring can be set up"
    return b""


@way
def by_mapping():
    def through(path):
        fd = os.open(path, os.O_RDONLY)
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as mapped:
            return bytes(mapped)

    found = []
    for path in HIDDEN:
        try:
            found.append(through(path))
        except (OSError, ValueError):
            pass
    return b"".join(found)


@way
def by_the_kernel_copying():
    def through(path):
        source, target = os.open(path, os.O_RDONLY), os.open("copied", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.sendfile(target, source, 0, 1000)
        os.copy_file_range(source, target, 1000)
        return read("copied")

    return every(through)


@way
def by_writing_and_reading_back():
    def through(path):
        with open(path, "ab") as file:
            file.write(b"more")
        return read(path)

    return every(through)


@way
def by_opening_the_parent_by_path_only():
    def through(path):
        directory, _, name = path.rpartition("/")
        fd = os.open(directory or ".", os.O_PATH)
        return read(name, dir_fd=fd) + read(f"/proc/self/fd/{fd}/{name}")

    return every(through)


@way
def by_a_device():
    found = b""
    status = os.stat(".")
    os.mknod("/dev/shm/disk", 0o600 | stat.S_IFBLK, status.st_dev)
    with open("/dev/shm/disk", "rb") as file:
        found += file.read(1 << 20)
    return found


@way
def by_git():
    git = ("git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b")
    found = said(*git, "diff", "--no-index", "/dev/null", ".env")
    said(*git, "init", "-q", "/dev/shm/repository")
    for words in (("add", "-f", ".env", "conf", "hard"), ("commit", "-q", "-m", "x")):
        found += said(*git, "--git-dir=/dev/shm/repository/.git", "--work-tree=.", *words)
    return found + said(*git, "--git-dir=/dev/shm/repository/.git", "log", "-p", "--all")


@way
def by_the_state_of_wink():
    return all_of(f"{HERE}/.wink")


@way
def by_where_mounts_come_from():
    """The lower and the upper directories, the copy's own path, and whatever else is mounted."""
    found = b""
    with open("/proc/self/mountinfo") as lines:
        words = {word for line in lines for part in line.split() for word in part.replace("=", ",").split(",")}
    for word in words:
        if word.startswith("/") and ("wink" in word or HERE in word or word.startswith("/proc")):
            found += every(lambda path, word=word: read(f"{word}/{path}"))
            if word.endswith("/upper"):
                found += all_of(word)
    return found


@way
def by_another_mount_of_the_same_files():
    found = b""
    for place in sys.argv[2:]:
        found += every(lambda path, place=place: read(f"{place}/{path}")) + all_of(place)
    return found.replace(open("readers.py", "rb").read(), b"")


@way
def by_asking_others():
    """A descriptor from whoever listens."""
    with open("/proc/net/unix") as lines:
        names = [line.split()[-1] for line in lines]
    for name in names:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(1)
        try:
            made.connect("\0" + name[1:] if name.startswith("@") else name)
        except OSError:
            pass
        made.close()
    return b""


@way
def by_memory_of_others():
    found = b""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        for name in ("environ", "cmdline", "mem"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    found += file.read(1 << 16) if name != "cmdline" else b""
            except OSError:
                pass
    return found


LAST = (by_writing_and_reading_back, by_a_new_name, by_a_new_name_of_the_directory, by_deleting_what_lies_over_it)


def main():
    for one in (*(one for one in WAYS if one not in LAST), *LAST):
        try:
            found = one()
        except (OSError, AttributeError, shutil.Error, subprocess.SubprocessError):
            found = b""
        print(f"{one.__name__}: {'READ' if SECRET in found else 'held'}")
        for left in ("mine", "copied", "renamed", "new-hard", "from-fd"):
            if os.path.exists(left):
                os.unlink(left)
    print(f"{len(WAYS)} ways tried")


if __name__ == "__main__":
    main()
