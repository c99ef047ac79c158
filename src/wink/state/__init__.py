"""Where a workspace's state lies, and whether this user's own wink made it.

Rules of this package:

* Whatever a workspace holds was put there by a stranger, until this user's wink made it. A clone, a checkout, an archive or
  a program may have put anything at any name below `.wink`.
* So the state lies in `.wink/<name>`, a name that nobody can guess: it is made of the workspace and of a key that lies in
  the user's own directory. Nothing else below `.wink` is ever opened.
* A seal in it says that this very directory was made by a wink that has the key. A copy has another inode, and so no seal.
* That a workspace has one is noted in the user's directory too, only to tell of one that is gone; and so is how far the chain
  of its record has come, by which `wink verify` judges.
* Beneath it nothing is reached through links, and no file is opened that is not a plain one of this user's.
"""

from wink.state._key import key_problem, user_directory
from wink.state._memory import is_gone
from wink.state._place import DIRECTORY, EARLIER, Unknown, enter, is_place, keep_head, kept_head, locate, make
from wink.state._plain import is_plain, open_directory, opened_directory, read_file, replace_file
from wink.state._takeover import adopt, put_all_aside, put_aside, strange, unknown

__all__ = [
    "DIRECTORY",
    "EARLIER",
    "Unknown",
    "adopt",
    "enter",
    "is_gone",
    "is_place",
    "is_plain",
    "keep_head",
    "kept_head",
    "key_problem",
    "locate",
    "make",
    "open_directory",
    "opened_directory",
    "put_all_aside",
    "put_aside",
    "read_file",
    "replace_file",
    "strange",
    "unknown",
    "user_directory",
]
