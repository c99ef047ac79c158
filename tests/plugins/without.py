"""Take plugins of wink's own out of the environment that this runs in, and see that nothing asks for them.

    python tests/plugins/without.py batch shell

is for environments that are thrown away, with wink installed from a wheel: the packages `wink_batch` and `wink_shell` are deleted,
and what the metadata say of them. Then every module of wink is imported, and a few commands run.
"""

import importlib
import importlib.util
import os
import pkgutil
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path


def main(plugins: list[str]) -> None:
    """Take them out, and try what is left."""
    packages = [f"wink_{plugin.replace('-', '_')}" for plugin in plugins]
    words = [word for package in packages for word in take_out(package)]
    left = [package for package in packages if importlib.util.find_spec(package) is not None]
    assert not left, f"{left} are still there"
    import_everything()
    listed = said("--help").split()
    assert "log" in listed
    for word in words:
        assert word not in listed
        assert f"there is no command '{word}'" in said(word, status=2)
    shown = said("plugins", "--json")
    assert not [package for package in packages if package in shown]
    said("plugins", "check")
    said("tools")
    print(f"wink is whole without {' and '.join(plugins)}")


def take_out(package: str) -> list[str]:
    """Delete the package, and its entry points; gives the commands among them."""
    spec = importlib.util.find_spec(package)
    assert spec is not None, f"{package} is not installed"
    assert spec.origin is not None, f"{package} is no package of ours"
    folder = Path(spec.origin).parent
    assert folder.is_relative_to(sys.prefix), f"{folder} is a source tree; this is for an environment with a wheel"
    distribution = metadata.distribution("wink")
    offers = [point for point in distribution.entry_points if point.module.partition(".")[0] == package]
    shutil.rmtree(folder)
    points = Path(str(distribution.locate_file(""))) / f"wink-{distribution.version}.dist-info" / "entry_points.txt"
    lines = points.read_text(encoding="utf-8").splitlines()
    gone = {f"{point.name} = {point.value}" for point in offers}
    points.unlink()  # installers link files from a cache
    points.write_text("".join(f"{line}\n" for line in lines if line not in gone), encoding="utf-8")
    importlib.invalidate_caches()
    return [point.name.partition(".")[2] for point in offers if point.group == "wink.commands"]


def import_everything() -> None:
    """Every module of wink, those that are programs aside."""
    import wink

    for one in pkgutil.walk_packages(wink.__path__, "wink."):
        if ".demo." not in one.name and not one.name.endswith("__main__"):
            importlib.import_module(one.name)


def said(*arguments: str, status: int = 0) -> str:
    """What a command prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "wink", *arguments], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == status, (arguments, done)
    return done.stdout + done.stderr


if __name__ == "__main__":
    main(sys.argv[1:])
