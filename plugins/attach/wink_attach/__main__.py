"""Run the helper of one workspace: `python -m wink_attach [--user] ROOT`, as the client does; with `--user` one that nobody chose."""

import os
import sys

from wink_attach._helper import serve
from wink_attach._place import made_private, socket_place

if __name__ == "__main__":
    # Packages in the current directory count for nothing, and everything lies in "/".
    os.chdir(made_private(socket_place(sys.argv[-1])[0]))
    sys.exit(serve(sys.argv[-1], is_chosen="--user" not in sys.argv[1:-1]))
