# SPDX-License-Identifier: MIT
"""./sconsw test changed: runs the test files that use what has changed since they last passed, and writes down what they use now.

Exit 0 if all pass, 1 if one fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

from tools.testmap.entries import FAILED, TestMap
from tools.testmap.reads import ROOT
from tools.testmap.session import preload

_NAMED = 6  # so many changed files are named


def main(words: Sequence[str]) -> int:
    """Says what it runs and why, in one line, then a line for each test file, with pytest's own words where one fails."""
    parser = argparse.ArgumentParser(prog="./sconsw test changed", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tests", default="tests", help="folders and files, with commas between them")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4), help="so many test files at a time")
    options = parser.parse_args(words)
    os.chdir(ROOT)
    known = TestMap()
    test_files = files_of(options.tests.split(","))
    reasons = {test_file: changed for test_file in test_files if (changed := known.changed(test_file))}
    print(summary(reasons, len(test_files), {test_file for test_file in reasons if not known.is_known(test_file)}))
    unused = [file for file in uncommitted() if file not in test_files and not any(known.uses(one, file) for one in test_files)]
    print(f"no test file uses {', '.join(unused)}\n" if unused else "", end="", flush=True)
    preload()
    tests = failed = 0
    for number, run in enumerate(known.renew(list(reasons), options.jobs), 1):
        tests += run.tests
        failed += not run.passed
        print(f"{number}/{len(reasons)}  {run.test_file}: {f'{run.tests} tests pass' if run.passed else 'FAILED'}", flush=True)
        print("" if run.passed else run.output, end="", flush=True)
    print(f"{tests} tests in {len(reasons)} files; {failed} files fail")
    return int(failed > 0)


def files_of(places: Sequence[str]) -> list[str]:
    """The test files in these folders and files, below the root, sorted."""
    found = {
        path for place in places for path in ([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("test_*.py"))
    }
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def uncommitted() -> list[str]:
    """The files that differ from the last commit; none where git is not there or this is no repository."""
    command = ["git", "-C", str(ROOT), "status", "--porcelain", "--no-renames", "--untracked-files=all"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted(line[3:].strip('"') for line in lines)


def summary(reasons: dict[str, list[str]], number: int, unknown: set[str]) -> str:
    """What runs and why: the changed files that most test files use come first."""
    used = Counter(file for test_file, files in reasons.items() if test_file not in unknown for file in files)
    failed = used.pop(FAILED, 0)
    most = [
        f"{'any file' if file == '.' else file} ({count})"
        for file, count in sorted(used.items(), key=lambda item: (-item[1], item[0]))
    ]
    causes = (
        [f"using {', '.join(most[:_NAMED])}" + (f" and {len(most) - _NAMED} more" if len(most) > _NAMED else "")] if most else []
    )
    causes += [f"{failed} that failed"] if failed else []
    causes += [f"{len(unknown)} never recorded"] if unknown else []
    return f"{len(reasons)} of {number} test files" + (f": {'; '.join(causes)}" if causes else " use what has changed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
