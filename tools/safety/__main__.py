# SPDX-License-Identifier: MIT
"""`python -m tools.safety`: writes docs/safety-matrix.md and docs/safety-coverage.md; `--check` writes nothing.

Exit code 1 if a requirement has no test, a test names no requirement, a way of a branch is neither taken nor explained, or, with
`--check`, the matrix on the page is old; 3 without gcc or gcov.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from aidge_build.base.errors import AidgeError
from tools.safety import coverage, matrix

ROOT = Path(__file__).resolve().parents[2]
PARTS: dict[str, Callable[[Path, bool], list[str]]] = {"matrix": matrix.update, "coverage": coverage.update}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.safety", description="Write the evidence for docs/safety.md.")
    parser.add_argument("part", nargs="?", choices=list(PARTS), help="one of the two pages (default: both)")
    parser.add_argument("--check", action="store_true", help="write nothing (default: write the pages)")
    arguments = parser.parse_args(words)
    try:
        found = [line for part in ([arguments.part] if arguments.part else PARTS) for line in PARTS[part](ROOT, arguments.check)]
    except AidgeError as error:
        print(f"safety: {error}", file=sys.stderr)
        return error.exit_code
    for line in found:
        print(line, file=sys.stderr)
    print(f"safety: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
