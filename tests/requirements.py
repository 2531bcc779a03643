# SPDX-License-Identifier: MIT
"""A test that is marked with the code of a finding or a refusal must cause it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.findings import Finding


@contextlib.contextmanager
def caused(names: set[str], is_case: bool) -> Iterator[None]:
    """Fails if no finding and no error is made inside for each of these codes; in a case of a test with parameters, for any of
    them. Names of guarantees (`G3`) are nobody's code."""
    made: set[str] = set()

    def seen(kind: type):
        create = kind.__init__

        def create_and_note(self, *arguments, **keywords) -> None:
            create(self, *arguments, **keywords)
            made.add(self.code)

        return create_and_note

    with pytest.MonkeyPatch.context() as patch:
        for kind in (AidgeError, Finding):
            patch.setattr(kind, "__init__", seen(kind))
        yield
    codes = {name for name in names if not name.removeprefix("G").isdigit()}
    lacking = codes - made if not is_case or not codes & made else set()
    if lacking:
        pytest.fail(f"the test is marked with {', '.join(sorted(lacking))}, and nothing with this code was made in this process")
