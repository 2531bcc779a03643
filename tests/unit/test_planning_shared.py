# SPDX-License-Identifier: MIT
"""Plans that one compilation makes for several boards are those that each board gets alone."""

from __future__ import annotations

from types import SimpleNamespace

from aidge_build.plan import planning
from aidge_build.plan.planning import Planning


def asked_twice(monkeypatch, has_refused: bool) -> list[object]:
    """The searches for rows that two boards meet, where a plan of the first was refused or not."""
    made: list[object] = []

    def banded(*words) -> object:
        made.append(SimpleNamespace(has_refused=has_refused))
        return made[-1]

    monkeypatch.setattr(planning, "banded", banded)
    monkeypatch.setattr(planning, "whole_tensors", lambda *words: ("assignment", "whole", "joined"))
    shared = Planning(None, None, SimpleNamespace(max_step=0), lambda assignment: SimpleNamespace())
    return [shared._rows(planning.QUICK) for _ in range(2)]


def test_a_second_board_goes_on_with_the_search_of_the_first(monkeypatch):
    first, second = asked_twice(monkeypatch, has_refused=False)
    assert first is second


def test_after_a_refused_plan_the_next_board_begins_a_search_of_its_own(monkeypatch):
    first, second = asked_twice(monkeypatch, has_refused=True)
    assert first is not second
