# SPDX-License-Identifier: MIT
"""The items that are worth most in rooms of limited bytes, against all choices of small cases."""

from __future__ import annotations

import itertools
import random

import pytest

from aidge_build.plan.memory.knapsack import Item, by_density, most_valuable


def largest_value(items: list[Item], rooms: list[int]) -> int:
    """By trying every choice."""
    largest = 0
    for choice in itertools.product(*((None, *item.rooms) for item in items)):
        taken = [sum(item.size_bytes for item, room in zip(items, choice) if room == number) for number in range(len(rooms))]
        if all(used <= room for used, room in zip(taken, rooms, strict=True)):
            largest = max(largest, sum(item.value for item, room in zip(items, choice) if room is not None))
    return largest


@pytest.mark.parametrize("seed", range(40))
def test_no_other_choice_of_a_small_case_is_worth_more(seed):
    numbers = random.Random(seed)
    rooms = [numbers.randint(0, 40) for _ in range(numbers.randint(1, 3))]
    items = [
        Item(
            numbers.randint(0, 30),
            numbers.randint(1, 25),
            tuple(numbers.sample(range(len(rooms)), numbers.randint(0, len(rooms)))),
        )
        for _ in range(numbers.randint(0, 6))
    ]
    found = most_valuable(items, rooms)
    assert found.is_optimal and found.value == largest_value(items, rooms) >= by_density(items, rooms)
    for number, room in enumerate(rooms):
        assert sum(item.size_bytes for item, place in zip(items, found.rooms, strict=True) if place == number) <= room
    assert all(place is None or place in item.rooms for item, place in zip(items, found.rooms, strict=True))


def test_the_item_with_the_most_value_for_each_byte_may_stay_outside():
    items = [Item(8, 5, (0,)), Item(6, 4, (0,)), Item(6, 4, (0,))]
    assert by_density(items, [8]) == 8 and most_valuable(items, [8]).rooms == (None, 0, 0)


def test_of_equal_choices_the_first_items_and_rooms_are_taken():
    assert most_valuable([Item(5, 8, (1, 0)), Item(5, 8, (0, 1)), Item(5, 8, (1, 0))], [8, 8]).rooms == (1, 0, None)
    assert most_valuable([Item(5, 5, (0,)), Item(5, 6, (0,)), Item(2, 4, (0,))], [8]).rooms == (0, None, None)


def test_items_without_bytes_are_always_inside():
    assert most_valuable([Item(5, 8, (0,)), Item(1, 0, (0,))], [8]).rooms == (0, 0)


def test_a_search_that_is_cut_off_says_so_and_fills_the_rooms():
    items = [Item(10 + number % 7, 9 + number % 5, (0,)) for number in range(30)]
    found = most_valuable(items, [100], most_nodes=20)
    assert not found.is_optimal and 0 < found.value <= most_valuable(items, [100]).value
