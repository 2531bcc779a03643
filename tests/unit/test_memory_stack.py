# SPDX-License-Identifier: MIT
"""The least height of a stack of aligned buffers: exact where it is small, a bound everywhere."""

from __future__ import annotations

from itertools import permutations
from random import Random

from aidge_build.plan.memory.stack import least_padding, stack_bytes


def height(order, alignments) -> int:
    end = 0
    for size, alignment in zip(order, alignments):
        end += -end % alignment + size
    return end


def test_it_is_the_best_of_all_orders():
    for seed in range(300):
        random = Random(seed)
        count = random.randrange(1, 6)
        sizes = [random.randrange(1, 70) for _ in range(count)]
        alignments = [random.choice((1, 2, 4, 16)) for _ in range(count)]
        best = min(height(*zip(*order)) for order in permutations(zip(sizes, alignments)))
        assert stack_bytes(sizes, alignments) == best, (sizes, alignments)


def test_it_is_a_bound_where_the_search_is_cut_off():
    random = Random(1)
    sizes = [random.randrange(1, 70) for _ in range(9)]
    kinds = tuple((-random.choice((4, 8, 16)), size % 16) for size in sizes)
    exact = least_padding(kinds, (1,) * 9, 0, 16, 1 << 40)
    found = [least_padding(kinds, (1,) * 9, 0, 16, links) for links in (0, 50, 500, 5_000)]
    assert found == sorted(found) and found[0] == 0 and found[-1] <= exact
    assert exact > 0


def test_no_buffers_need_nothing():
    assert stack_bytes([], []) == 0
