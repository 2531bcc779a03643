# SPDX-License-Identifier: MIT
"""`python -m aidge_build` is the command `aidge-build`."""

import gc
import sys

GARBAGE = (
    2_000_000,
    50,
    50,
)  # objects and rounds between searches for cycles: graphs have none, and searching them costs a fifth
INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


def main() -> int:
    """The command; Ctrl-C ends it without a word also while its modules are being loaded."""
    gc.set_threshold(*GARBAGE)
    try:
        from aidge_build.cli import main as run
    except KeyboardInterrupt:
        return INTERRUPTED
    return run()


if __name__ == "__main__":
    sys.exit(main())
