"""Batches on a real Ray: one of their own, and a cluster of several nodes on this machine that lose some of them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.batch.tests.acting import acting, begun
from plugins.batch.tests.helping import (
    command,
    environment,
    repository,
    rows,
    wait_until,
    wink,
    write_table,
    write_turns,
)

from wink_batch import Driver, Journal, Plan, RayEngine, read_tasks

pytestmark = [pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]
TEMPLATE = "plugins.batch.tests.acting:template"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a workspace, a script and what attempts share."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.txt").write_text("a\n")
    (tmp_path / "shared").mkdir()
    write_turns(tmp_path / "turns.toml")
    return tmp_path


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that runs nothing, and two nodes with one place each."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.two = [made.add_node(num_cpus=1), made.add_node(num_cpus=1)]
    made.wait_for_nodes()
    try:
        yield made
    finally:
        made.shutdown()


def table(place: Path, number: int, **params: str) -> Path:
    """So many tasks on one workspace."""
    about = {"at": str(place / "shared"), **params}
    made = [{"id": f"t{one}", "prompt": "Act.", "workspace": "repo", "params": about} for one in range(number)]
    return write_table(place / "tasks.jsonl", made)


def begin(place: Path, *more: str) -> list[str]:
    """A command that begins a batch on Ray."""
    options = [
        "--model",
        "scripted:turns.toml",
        "--template",
        TEMPLATE,
        "--out",
        "out",
        "--cache",
        str(place / "cache"),
    ]
    return ["batch", "tasks.jsonl", *options, *more]


def check_all(place: Path, number: int) -> list[dict[str, Any]]:
    """Every task is there once, done, with its own file and nothing half done."""
    found = rows(place / "out" / "results.jsonl")
    assert sorted(row["id"] for row in found) == sorted(f"t{one}" for one in range(number))
    for row in found:
        assert (row["status"], row["changed"]) == ("done", ["out.txt"]), row
        assert f"+{row['id']}\n" in (place / "out" / row["patch"]).read_text()
    assert sorted(os.listdir(place / "repo")) == ["a.txt"]
    return found


def test_a_ray_of_its_own_works_through_all_tasks_and_leaves_nothing_behind(place: Path) -> None:
    """Workers of different kinds of ends: they die, and hang, once; each task is done in the end, and quietly."""
    made = [
        {"id": f"t{one}", "prompt": "Act.", "workspace": "repo", "params": {"at": str(place / "shared"), "do": what}}
        for one, what in enumerate(["write", "die once", "hang once", "write"])
    ]
    write_table(place / "tasks.jsonl", made)

    done = wink(*begin(place, "--idle-time", "8", "--requests-per-minute", "6000"), cwd=place)

    found = {row["id"]: row for row in check_all(place, 4)}
    assert [found[f"t{one}"]["attempts"][0]["cause"] for one in (1, 2)] == ["crash", "hang"]
    assert "4 done, 0 failed" in done.stdout
    assert {line for line in done.stderr.splitlines() if not line.startswith("wink: ")} == set()
    assert os.listdir(place / "cache" / "work") == []
    assert any(name.startswith("raylet") for name in os.listdir(place / "out" / "logs" / "ray"))


def test_a_killed_driver_is_gone_on_from(place: Path, cluster: Any) -> None:
    """Whatever ran when it was killed ends, and is begun again; what was over is not."""
    table(place, 6, do="gate")
    (place / "shared" / "gate").touch()
    process = subprocess.Popen(
        command(*begin(place, "--address", cluster.address)),
        cwd=place,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: len(rows(place / "out" / "results.jsonl")) >= 2, "two tasks are over")
        (place / "shared" / "gate").unlink()
        # Not another one than a moment ago: where all places are taken by then, none begins any more.
        wait_until(
            lambda: (
                6 in ((over := len(rows(place / "out" / "results.jsonl"))), len(begun(str(place / "shared"))))
                or len(begun(str(place / "shared"))) > over
            ),
            "one has begun that is not over",
        )
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    over = {row["id"] for row in rows(place / "out" / "results.jsonl")}
    (place / "shared" / "gate").touch()

    wink("batch", "--resume", "out", "--address", cluster.address, cwd=place)

    found = check_all(place, 6)
    assert all(row["tries"] == 1 for row in found), "being killed with the driver is no failure of the task"
    acted = [name for name in os.listdir(place / "shared") if "~2" in name]
    assert {name.partition("~")[0] for name in acted}.isdisjoint(over)


def test_an_interrupted_batch_ends_in_order(place: Path, cluster: Any) -> None:
    """What runs takes back what it is in the middle of, and nothing counts as failed."""
    table(place, 3, do="gate")
    process = subprocess.Popen(
        command(*begin(place, "--address", cluster.address)),
        cwd=place,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(begun(str(place / "shared"))) >= 1, "a task has begun")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=240)

    assert process.returncode == 130, said
    assert "--resume" in said
    assert rows(place / "out" / "results.jsonl") == []
    assert all(row["status"] == "stopped" for row in rows(place / "out" / "attempts.jsonl"))
    assert os.listdir(place / "cache" / "work") == []


def test_a_lost_node_costs_a_try_and_nothing_else(place: Path, cluster: Any) -> None:
    """What ran on it is begun again elsewhere; every task ends once. The workspace is a commit, its states are pushed."""
    remote, _ = repository(place / "remote.git", {"a.txt": "a\n"})
    made = [
        {"id": f"t{one}", "prompt": "Act.", "workspace": str(remote), "revision": "main",
         "params": {"at": str(place / "shared"), "do": "gate"}} for one in range(6)
    ]  # fmt: skip
    options = {"template": TEMPLATE, "model": f"scripted:{place}/turns.toml"}
    plan = Plan(
        "lost",
        "wink_batch._assembly:assemble",
        options,
        paths=(os.getcwd(),),
        cache=str(place / "cache"),
        checkpoint="origin",
    )
    tasks = read_tasks(str(write_table(place / "tasks.jsonl", made)))
    with Journal.begin(str(place / "out"), plan, tasks) as journal:
        engine = RayEngine(address=cluster.address)
        endings: list[str] = []
        driving = threading.Thread(target=lambda: endings.append(Driver(journal, engine).run()))
        try:
            driving.start()
            wait_until(lambda: len(acting(str(place / "shared"))) == 2, "both nodes work")
            cluster.remove_node(cluster.two[1], allow_graceful=False)
            # Its worker outlives it for a moment, in which what passes the gate would be over, and nothing lost.
            wait_until(lambda: len(acting(str(place / "shared"))) == 1, "what ran on the lost node has ended")
            (place / "shared" / "gate").touch()
            driving.join(400)
        finally:
            engine.close()
    assert endings == ["over"]
    found = check_all(place, 6)
    assert sorted(row["tries"] for row in found) == [1, 1, 1, 1, 1, 2]
    lost = [row for row in rows(place / "out" / "attempts.jsonl") if row["status"] != "done"]
    assert [row["cause"] for row in lost] == ["node"]
    said = subprocess.run(["git", "for-each-ref", "refs/wink"], cwd=remote, capture_output=True, text=True, check=True)
    assert sorted(line.split("\t")[1] for line in said.stdout.splitlines()) == [
        f"refs/wink/lost/t{one}" for one in range(6)
    ]


def test_an_address_where_no_ray_is_gives_one_line(place: Path) -> None:
    """And leaves nothing, so that the same command begins the batch once there is one."""
    table(place, 1)
    before = sorted(os.listdir(place))
    done = wink(*begin(place, "--address", "127.0.0.1:1"), cwd=place, status=None)
    assert done.returncode != 0
    assert [line for line in done.stderr.splitlines() if line.startswith("wink: Ray")], done.stderr
    assert sorted(name for name in os.listdir(place) if name != "cache") == before
