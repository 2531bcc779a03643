# SPDX-License-Identifier: MIT
"""The words next to the arena are buffers of the plan: placed outside of all others, and live in every step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.plan.integrity import AFTER, BEFORE, Integrity, canary_offsets, with_canaries
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.plan import Placement
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.options import Options

BUFFERS = (Buffer("a", 10, 4, 0, 2), Buffer("b", 33, 32, 1, 3), Buffer("c", 7, 1, 2, 4))


@pytest.mark.parametrize(("arena", "first"), [("static", 32), ("caller", 0)])
def test_canaries_surround_the_arena_and_keep_the_alignment_of_its_buffers(arena, first):
    bare = plan(BUFFERS)
    whole = with_canaries(bare, Options(integrity="canary", arena=arena))
    canaries = [placement.buffer for placement in whole.placements if placement.buffer.kind == "canary"]
    check(whole, (*BUFFERS, *canaries))
    assert whole.alignment == 32 and whole.peak_bytes == first + bare.peak_bytes + -bare.peak_bytes % 4 + 4
    assert [whole.offset_of(buffer.name) - bare.offset_of(buffer.name) for buffer in BUFFERS] == [first] * 3
    assert canary_offsets(whole) == ((28,) if first else ()) + (whole.peak_bytes - 4,)
    assert [buffer.name for buffer in canaries] == ([BEFORE] if first else []) + [AFTER]


@pytest.mark.parametrize("name", [BEFORE, AFTER])
def test_a_plan_with_a_buffer_on_a_canary_is_refused(name):
    whole = with_canaries(plan(BUFFERS), Options(integrity="on"))
    at = whole.offset_of(name) - (3 if name == AFTER else 0)  # its last byte
    moved = tuple(
        Placement(placement.buffer, at) if placement.buffer.name == "c" else placement for placement in whole.placements
    )
    with pytest.raises(CheckFailed, match=f"'{name}'.* overlap"):
        check(replace(whole, placements=moved), [placement.buffer for placement in whole.placements])


def test_a_model_without_checks_keeps_its_plan_and_has_no_struct():
    bare = plan(BUFFERS)
    for options in (Options(), Options(integrity="constants")):
        assert with_canaries(bare, options) is bare
    sizes = [Integrity.of(Options(integrity=word, update=update)) for word in ("canary", "on") for update in ("none", "weights")]
    assert [one.size_bytes for one in sizes if one] == [2, 2, 12, 16] and Integrity.of(Options()) is None
