"""`python -m wink` is `wink`."""

from wink.cli import main

if __name__ == "__main__":
    main()
