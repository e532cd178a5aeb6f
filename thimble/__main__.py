"""Run the command `thimble` as `python -m thimble`."""

import sys

from thimble.repl.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
