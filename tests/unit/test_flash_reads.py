# SPDX-License-Identifier: MIT
"""Lines of flash through caches: who counts along by hand gets the same misses and stalls."""

from __future__ import annotations

import pytest

from aidge_build.boards.flash import Cache, Flash
from aidge_build.prove.timing.memory import WAITED, Caches, FlashReads, caches_of, fetch_stalls

ONE_LINE = Cache(16, 1, 16)


def reads(code: Cache = ONE_LINE, data: Cache = ONE_LINE, is_shared: bool = False, prefetches: bool = False) -> FlashReads:
    return FlashReads(Caches(code, data, is_shared, prefetches))


def misses(found: FlashReads, layer: int = 0) -> dict[int, int]:
    """How many lines of code waited, by the instructions since their prefetch began."""
    return {since: lines for since, lines in enumerate(found.lines.code.get(layer, ())) if lines}


def test_a_loop_waits_once_for_each_of_its_lines_if_the_cache_holds_them_all():
    for lines, expected in ((2, 2), (3, 30)):
        found = reads(Cache(32, 2, 16))
        for _ in range(10):
            found.block(0x100, [2] * 8 * lines, 0)
        assert misses(found) == {0: expected}


def test_the_line_that_was_used_least_recently_is_replaced():
    found = reads(Cache(32, 2, 16))
    for address in (0, 16, 0, 32, 0, 16):  # 32 replaces 16, 16 replaces 32
        found.block(address, [2], 0)
    assert misses(found) == {0: 4}


def test_lines_of_another_set_are_not_replaced():
    found = reads(Cache(64, 2, 16))
    for address in (0, 16, 32, 48, 64, 0, 16, 48, 32):  # of the even set 64 replaces 0, 0 replaces 32
        found.block(address, [2], 0)
    assert misses(found) == {0: 7}


def test_an_instruction_at_the_end_of_a_line_needs_both_lines():
    found = reads()
    found.block(14, [4], 0)
    assert misses(found) == {0: 2}


def test_the_next_line_is_fetched_while_the_core_executes_the_one_before():
    found = reads(prefetches=True)
    found.block(0, [2] * 8 + [4] * 4 + [2], 0)
    assert misses(found) == {0: 1, 8: 1, 4: 1}
    found.block(64, [2], 0)  # behind a branch over a line
    assert misses(found) == {0: 2, 8: 1, 4: 1}
    # 5 wait states, 1.5 cycles for an instruction: nothing hidden, all hidden, nothing left of 6 cycles
    waited = found.lines.code[0]
    assert fetch_stalls(waited, 5, 1.5) == 5 + 5
    assert fetch_stalls(waited, 5, 1.0) == 5 + 5 + (6 - 4)
    assert fetch_stalls(waited, 5, 0.5) == 5 + 5 + (6 - 4) + (6 - 2)
    assert fetch_stalls(waited, 0, 1.0) == 0


def test_more_instructions_than_bins_hide_every_wait():
    found = reads(prefetches=True)
    for _ in range(WAITED):
        found.block(0, [2, 2], 0)
    found.block(16, [2], 0)
    assert misses(found) == {0: 1, WAITED - 1: 1}


def test_constants_and_code_replace_each_other_in_a_shared_cache_alone():
    for is_shared, expected in ((True, 3), (False, 2)):
        found = reads(Cache(32, 2, 16), is_shared=is_shared)
        found.block(0, [2], 0)
        found.block(16, [2], 0)
        found.data(0x100, 0)
        found.block(0, [2], 0)
        assert misses(found) == {0: expected} and found.lines.data == {0: 1}


def test_what_runs_outside_of_inferences_fills_the_cache_and_is_not_counted():
    found = reads()
    found.block(0, [2], None)
    found.data(0, None)
    found.block(2, [2], 0)
    found.data(4, 0)
    found.block(16, [2], 1)
    assert found.lines.code == {1: [1, *[0] * (WAITED - 1)]} and found.lines.data == {}


def test_an_external_flash_is_also_read_without_its_cache_and_an_unknown_one_for_data_alone():
    cache = Cache(16384, 2, 8)
    shared = Caches(cache, cache, True, False)
    word = Cache(4, 1, 4)
    assert caches_of(Flash(4, 64, False, cache, cache, True, True)) == (shared, Caches(word, word, False, False))
    assert caches_of(Flash(4, 64, False, cache, cache, True, False)) == (shared,)
    assert caches_of(None) == (Caches(None, ONE_LINE, False, False),)
    unknown = FlashReads(*caches_of(None))
    unknown.block(0, [2], 0)
    assert not unknown.lines.code


@pytest.mark.parametrize("size, ways, line, sets", [(1024, 64, 16, 1), (16384, 2, 8, 1024), (64, 1, 8, 8)])
def test_a_cache_has_sets_of_ways(size, ways, line, sets):
    assert Cache(size, ways, line).sets == sets
