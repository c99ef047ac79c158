"""What `wink new-plugin` writes: the files of a package, and how they get to their place."""

from wink.cli.scaffold._kinds import KINDS
from wink.cli.scaffold._package import Package, files_of
from wink.cli.scaffold._writing import write_all

__all__ = ["KINDS", "Package", "files_of", "write_all"]
