"""Run the helper of one workspace: `python -m wink_attach ROOT`, as the client does."""

import os
import sys

from wink_attach._helper import serve
from wink_attach._place import made_private, socket_place

if __name__ == "__main__":
    # Packages in the current directory count for nothing, and everything lies in "/".
    os.chdir(made_private(socket_place(sys.argv[1])[0]))
    sys.exit(serve(sys.argv[1]))
