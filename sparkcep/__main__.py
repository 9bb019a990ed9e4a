"""``python -m sparkcep`` is ``sparkcep``."""

import sys

from sparkcep.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
