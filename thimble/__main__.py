"""`python -m thimble`, which is the command `thimble`."""

import sys

from thimble.repl.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
