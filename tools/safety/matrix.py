# SPDX-License-Identifier: MIT
"""The matrix of requirements and the tests that hold them, as a page, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.docs.markdown import cell
from tools.safety.marks import Marked, marked_tests
from tools.safety.requirements import Requirement, requirements

PAGE = "docs/safety-matrix.md"
_SHOWN = 3  # tests of a requirement that the page names
_HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `python -m tools.safety`: do not edit. -->
# Requirements and their tests

`python -m tools.safety matrix` writes this page from the marks of the tests. `./sconsw test` fails if the page is old, if a
requirement has no test, or if a test names a requirement that does not exist.

- A test names its requirements: `@pytest.mark.requirement("MEM03")`. Its own name says in a sentence what it shows.
- A test that names a finding or a refusal must cause it: otherwise `tests/conftest.py` fails the test, whatever it asserts.
- The page lists marked tests only. Most requirements have more tests without the mark.
"""


def faults(wanted: Sequence[Requirement], marked: Sequence[Marked]) -> list[str]:
    """Returns a line for each requirement without a test, and for each name in a mark that is no requirement."""
    known, held = {one.name for one in wanted}, {name for test in marked for name in test.names}
    return [
        *(
            f'{one.name} has no test: mark one with @pytest.mark.requirement("{one.name}")'
            for one in wanted
            if one.name not in held
        ),
        *(
            f"{test.file}: {test.function} names {name}, which is no requirement of docs/safety.md, no finding and no refusal"
            for test in marked
            for name in test.names
            if name not in known
        ),
    ]


def matrix_page(wanted: Sequence[Requirement], marked: Sequence[Marked]) -> str:
    """Returns the page: a table for each family of requirements, a row for each requirement."""
    return _HEAD + "\n".join(_tables(wanted, marked)) + "\n"


def _tables(wanted: Sequence[Requirement], marked: Sequence[Marked]) -> Iterator[str]:
    for family in dict.fromkeys(one.family for one in wanted):
        yield from ("", f"## {family}", "", "| requirement | says | tests | the first ones |", "|---|---|--:|---|")
        for one in wanted:
            if one.family == family:
                tests = [test for test in marked if one.name in test.names]
                links = ", ".join(f"[`{test.function}`](../{test.file})" for test in tests[:_SHOWN])
                yield f"| {one.name} | {cell(one.text)} | {len(tests)} | {links} |"


def read_matrix(root: Path) -> tuple[str, list[str]]:
    """Returns the page of a checkout as its tests are now, and its faults."""
    wanted, marked = requirements(root), marked_tests(root)
    return matrix_page(wanted, marked), faults(wanted, marked)


def update(root: Path, only_check: bool) -> list[str]:
    """Writes the page unless `only_check`, and returns the faults; an old page is one."""
    page, found = read_matrix(root)
    path = root / PAGE
    if path.exists() and path.read_text(encoding="utf-8") == page:
        return found
    if only_check:
        return [*found, f"{PAGE} is old: type .venv/bin/python -m tools.safety matrix"]
    path.write_text(page, encoding="utf-8")
    return found
