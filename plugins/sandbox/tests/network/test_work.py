"""Ordinary programs do their work through the proxy, and what they reached is told."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import ssl
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.conftest import Place, Ran
from plugins.sandbox.tests.network.conftest import Good, Names

from wink_sandbox import Traffic

Reach = Callable[..., Ran]


@pytest.fixture
def reach(place: Place, names: Names) -> Reach:
    """Run a command with some hosts listed; the names good.test and index.test lead to loopback."""
    names.known |= {"good.test": ["127.0.0.1"], "index.test": ["127.0.0.1"]}

    def run(command: str | list[str], *network: str) -> Ran:
        profile = replace(place.sandbox.profile, network=network)
        return place.run(command, sandbox=replace(place.sandbox, profile=profile))

    return run


def told(ran: Ran) -> list[tuple[str, str]]:
    traffic = ran.ended.traffic
    assert traffic is not None
    return sorted((one.place, one.outcome) for one in traffic.contacts)


def test_curl_gets_posts_and_is_refused(reach: Reach, serve: Callable[..., int], tmp_path: Path) -> None:
    port = serve()
    (tmp_path / "served" / "large").write_bytes(bytes(range(256)) * 40_000)
    script = f"""
        curl -sSf http://good.test:{port}/large | sha256sum
        head -c 3000000 /dev/zero | curl -sSf --data-binary @- http://good.test:{port}/
        head -c 300000 /dev/zero | curl -sSf -H 'Transfer-Encoding: chunked' --data-binary @- http://good.test:{port}/
        curl -sSf -H 'Expect: 100-continue' --data-binary abc http://good.test:{port}/
        curl -sSf --socks5-hostname 127.0.0.1:3128 http://good.test:{port}/
        curl -sSf http://good.test:{port}/ http://good.test:{port}/host
        curl -sSI http://good.test:{port}/missing | head -1
        curl -sS http://elsewhere.test/
        curl -sS https://elsewhere.test/ || echo status $?
    """
    ran = reach(script, f"good.test:{port}", f"127.0.0.1:{port}")

    first, second, *rest = ran.stdout.splitlines()
    assert first == f"{hashlib.sha256(bytes(range(256)) * 40_000).hexdigest()}  -"
    assert second.startswith(f"posted 3000000posted 300000posted 3welcomewelcomehost good.test:{port}HTTP/1.1 404")
    assert rest == ["wink: elsewhere.test:80 refused: not listed", "status 56"]
    assert told(ran) == [
        ("elsewhere.test:443", "refused: not listed"),
        ("elsewhere.test:80", "refused: not listed"),
        (f"good.test:{port}", "allowed"),
    ]
    traffic = ran.ended.traffic
    assert traffic is not None
    (good,) = (one for one in traffic.contacts if one.outcome == "allowed")
    assert good.times == 8
    assert good.sent > 3_300_000
    assert good.received > 10_240_000


def test_https_is_not_opened(
    reach: Reach, serve: Callable[..., int], tls: ssl.SSLContext, certificate: tuple[Path, Path], place: Place
) -> None:
    port = serve(tls=tls)
    shutil.copy(certificate[0], place.root / "cert.pem")
    script = f"""
        curl -sSf --cacert cert.pem https://good.test:{port}/; echo
        curl -sS --cacert cert.pem --connect-to good.test:{port}:index.test:{port} https://good.test:{port}/ || echo status $?
    """
    ran = reach(script, f"good.test:{port}", f"index.test:{port}", f"127.0.0.1:{port}")

    assert ran.stdout.splitlines() == ["welcome", "status 35"]
    assert told(ran) == [
        (f"good.test:{port}", "allowed"),
        (f"index.test:{port}", "refused: TLS for another name, good.test"),
    ]


def test_pip_downloads_from_an_index(reach: Reach, serve: Callable[..., int], tmp_path: Path) -> None:
    served = tmp_path / "index"
    (served / "simple" / "probe").mkdir(parents=True)
    with zipfile.ZipFile(served / "probe-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("probe.py", "")
        wheel.writestr("probe-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n")
        wheel.writestr("probe-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("probe-1.0.dist-info/RECORD", "")
    page = '<!DOCTYPE html><a href="/probe-1.0-py3-none-any.whl">probe-1.0-py3-none-any.whl</a>'
    (served / "simple" / "probe" / "index.html").write_text(page)
    port = serve(served)
    index = f"http://index.test:{port}/simple/"
    words = [
        "-m",
        "pip",
        "--isolated",
        "download",
        "--no-cache-dir",
        "--index-url",
        index,
        "--trusted-host",
        "index.test",
    ]
    ran = reach([sys.executable, *words, "probe"], f"index.test:{port}", f"127.0.0.1:{port}")

    assert ran.ended.status == 0, ran.ended.stderr.text()
    assert "probe-1.0-py3-none-any.whl" in ran.paths


def test_git_clones(reach: Reach, serve: Callable[..., int], tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    made = "git init -q one; cd one; echo a > a.txt; git add .; git -c user.name=a -c user.email=a@b.c commit -qm one; git gc -q"
    subprocess.run(["sh", "-ec", f"{made}; git update-server-info"], cwd=served, check=True)
    port = serve(served)
    ran = reach(
        f"git clone -q http://good.test:{port}/one/.git /tmp/two && cp /tmp/two/a.txt .",
        f"good.test:{port}",
        f"127.0.0.1:{port}",
    )

    assert ran.ended.status == 0, ran.ended.stderr.text()
    assert "a.txt" in ran.paths


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
def test_npm_installs_from_a_registry(reach: Reach, serve: Callable[..., int], place: Place, tmp_path: Path) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        manifest = json.dumps({"name": "probe", "version": "1.0.0"}).encode()
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(manifest)
        archive.addfile(entry, io.BytesIO(manifest))
    package = held.getvalue()

    class Registry(Good):
        def do_GET(self) -> None:
            if self.path.endswith(".tgz"):
                return self._answer(200, package)
            digest = base64.b64encode(hashlib.sha512(package).digest()).decode()
            address = f"http://{self.headers['Host']}/probe/-/probe-1.0.0.tgz"
            version = {
                "name": "probe",
                "version": "1.0.0",
                "dist": {"tarball": address, "integrity": f"sha512-{digest}"},
            }
            facts: dict[str, Any] = {"name": "probe", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            return self._answer(200, json.dumps(facts).encode(), ("Content-Type", "application/json"))

    port = serve(handler=Registry)
    (place.root / "package.json").write_text(json.dumps({"dependencies": {"probe": "1.0.0"}}))
    npm = os.path.realpath(shutil.which("npm") or "npm")
    node = os.path.dirname(shutil.which("node") or "node")
    ran = reach(
        f"HOME=/tmp PATH={node}:$PATH {npm} install --no-audit --no-fund --registry http://index.test:{port}/ 2>&1 && "
        "cp node_modules/probe/package.json installed.json",
        f"index.test:{port}",
        f"127.0.0.1:{port}",
    )

    assert ran.ended.status == 0, ran.stdout + ran.ended.stderr.text()
    assert "installed.json" in ran.paths


def test_a_program_reaches_servers_of_its_own(reach: Reach) -> None:
    script = """
        python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 &
        for turn in 1 2 3 4 5 6 7 8 9 10; do
            curl -sf http://localhost:8000/ > page && curl -sf http://127.0.0.1:8000/ > page && break; sleep 0.3
        done
        head -1 page
    """
    ran = reach(script, "good.test")

    assert "DOCTYPE" in ran.stdout
    assert ran.ended.traffic == Traffic()


def test_what_goes_past_the_proxy_fails_and_is_counted(reach: Reach) -> None:
    ran = reach("curl -sS --noproxy '*' http://1.1.1.1/ || echo status $?", "good.test")

    assert ran.stdout == "status 7\n"
    traffic = ran.ended.traffic
    assert traffic is not None
    assert traffic.unrouted > 0
    assert "to go past the proxy found no route" in [*traffic.lines()][-1]


def test_without_hosts_there_is_neither_a_proxy_nor_a_word_of_one(reach: Reach) -> None:
    ran = reach("env | grep -ci proxy; curl -s http://127.0.0.1:3128/ || echo status $?")

    assert ran.stdout == "0\nstatus 7\n"
    assert ran.ended.traffic is None
