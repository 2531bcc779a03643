# SPDX-License-Identifier: MIT
"""`python -m aidge_build` is the command `aidge-build`."""

import sys

INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


def main() -> int:
    """The command; Ctrl-C ends it without a word also while its modules are being loaded."""
    try:
        from aidge_build.cli import main as run
    except KeyboardInterrupt:
        return INTERRUPTED
    return run()


if __name__ == "__main__":
    sys.exit(main())
