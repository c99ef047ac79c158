"""`python -m wink` is `wink`: the current directory, which `-m` puts on the path, is taken off it first."""

import os  # which Python has loaded before it looked for this
import sys

if __name__ == "__main__":
    try:
        here = os.getcwd()
    except FileNotFoundError:  # it was deleted
        here = ""
    if not sys.flags.safe_path and sys.path[:1] == [here]:
        del sys.path[0]
    from wink.cli import main

    main()
