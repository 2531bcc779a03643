# SPDX-License-Identifier: MIT
"""`./sconsw docs`: writes the pages that are made from code, and builds the site; `python -m tools.docs --help`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.version import VERSION
from tools.docs.links import broken_links
from tools.docs.reference import write_pages
from tools.docs.versions import build_versions

ROOT = Path(__file__).resolve().parents[2]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="folder of the site (default: build/site)")
    parser.add_argument(
        "--pages", action="store_true", help="write the pages that are made from code; otherwise build the site, too"
    )
    arguments = parser.parse_args(words)
    try:
        write_pages(ROOT)
        if arguments.pages:
            return 0
        findings = [*build_versions(ROOT, arguments.out, VERSION), *broken_links(arguments.out)]
    except AidgeError as error:
        print(f"docs: {error}", file=sys.stderr)
        return error.exit_code
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"{arguments.out / 'index.html'}: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
