"""Run the helper of one workspace: `python -m wink_attach ROOT`, as the client does."""

import os
import sys

from wink_attach._helper import serve

if __name__ == "__main__":
    os.chdir("/")
    sys.exit(serve(sys.argv[1]))
