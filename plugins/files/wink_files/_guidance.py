"""What the model is told about the file tools."""

from __future__ import annotations

from typing import Final

GUIDANCE: Final = """\
Work on the workspace's files with these tools. Paths are relative to the workspace's root, with `/` between names.

- Find your way with `ls`, find files by name with `glob` and lines by content with `grep`.
- `read_file` numbers the lines it shows; the numbers are not part of the file. It tells you how to go on when there is more.
- Change a file with `edit_file`: copy `old_string` exactly from what you read, with enough of the lines around it to be
  found only once. Use `write_file` for new files, or to replace a whole one.
- For what is not text, `read_bytes` and `write_bytes` show and take base64.
- `move_file` renames, `rm` deletes, `symlink` makes a link, `chmod` makes a script executable.

Each call succeeds as a whole or changes nothing."""

IGNORING: Final = """\
`glob` and `grep` leave out what `.gitignore` files name; `ls` and `read_file` show it."""

READ_FIRST: Final = """\
Read a file before you change, move or delete it; if it changed since, read it again. New files need no reading."""
