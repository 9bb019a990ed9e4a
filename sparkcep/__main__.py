"""``python -m sparkcep``, and the command ``sparkcep``."""

import sys


def run() -> int:
    """The command line, or what to install for it where a package was installed without what it needs."""
    try:
        from sparkcep.cli.main import main
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print("The command line needs the package click.\nHint: pip install click rich", file=sys.stderr)
        return 1
    return main()


if __name__ == "__main__":
    sys.exit(run())
