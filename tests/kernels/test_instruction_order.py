# SPDX-License-Identifier: MIT
"""In the kernels of whole models each instruction reads the values that it read before its line moved."""

from __future__ import annotations

import argparse
import functools
import os
import random
import re
from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.boards.cores import OVERLAPPING
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.build.ordering.texts import best_text, ordered_text
from aidge_build.contract.thumb.statements import joined
from aidge_build.prove.timing.table import load_timing
from tests.compiled import request_of
from tests.instruction_values import differences, is_straight, lines_of, registers, results, runs_of
from tests.shared import MODELS, int8_model

CORES = {
    **dict.fromkeys(("cortex-m4", "cortex-m7", "cortex-m33"), "mps2-an386"),
    **dict.fromkeys(("cortex-m55", "cortex-m85"), "mps3-an547"),
}
ALSO = ("cortex-m4", "cortex-m33", "cortex-m85")  # the same texts by another table: every fourth; AIDGE_STRESS=1 takes all
STRESS = "AIDGE_STRESS" in os.environ
FAULTS = 40 if STRESS else 12  # of each kind


@functools.cache
def texts(board: str) -> tuple[str, ...]:
    """The functions in assembly of all models, each once, as kernels print them."""
    found: dict[str, None] = {}
    for model in MODELS:
        path = int8_model(model)
        request = request_of(path.read_bytes(), path.name, load_board(board))
        target = replace(request.target, features=request.target.features | {OVERLAPPING})
        program = build_program(replace(request, target=target))
        found |= dict.fromkeys(text for layer in program.layers for text in layer.call.texts if "__asm__" in text)
    return tuple(found)


@functools.cache
def neighbours(board: str) -> tuple[tuple[str, int, tuple[str, str, str]], ...]:
    """(function, number of the first line, three lines) of all lines whose first two are straight code."""
    found = []
    for text in texts(board):
        lines = lines_of(text)
        straight = [is_straight(line) for line in lines]
        numbers = [number for number in range(len(lines) - 2) if straight[number] and straight[number + 1]]
        found += [(text, number, (lines[number], lines[number + 1], lines[number + 2])) for number in numbers]
    return tuple(found)


@pytest.mark.parametrize("core", CORES)
def test_instructions_of_whole_models_read_the_same_values_in_the_new_order(core):
    table, moved = load_timing(core), 0
    chosen = texts(CORES[core])[:: 4 if core in ALSO and not STRESS else 1]
    for text in map(joined, chosen):
        new = ordered_text(text, table)
        assert differences(text, new) == []
        moved += new != text
    assert moved > len(chosen) // 2


@pytest.mark.parametrize("board, is_ordered", [("stm32f7", True), ("stm32f4", True), ("rp2040", False)])
def test_a_build_orders_instructions_by_the_table_of_the_core_and_keeps_them_where_nothing_overlaps(board, is_ordered):
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args([str(int8_model("sww_dscnn1d")), "--board", board]), "net")
    printed, program = build_program(replace(request, timing=None)), build_program(request)
    old, new = ([text for layer in each.layers for text in layer.call.texts] for each in (printed, program))
    assert request.timing is not None and set(request.timing.files) <= set(request.dependencies)
    assert new == ([best_text(text, request.timing) for text in old] if is_ordered else old)
    assert (new != old) is is_ordered


def reads_the_result(one: str, other: str, third: str) -> bool:
    return not {*written(one)}.isdisjoint(read(other))


def writes_an_operand(one: str, other: str, third: str) -> bool:
    return not {*read(one)}.isdisjoint(written(other)) and {*written(one)}.isdisjoint(read(other))


def sets_the_flags_of_a_branch(one: str, other: str, third: str) -> bool:
    setters = (re.match(r" *(adds|subs|ands|cmp|lsrs)\b", line) for line in (one, other))
    return all(setters) and re.match(r" *b(eq|ne|ge|gt|le|lt|cs|cc)\b", third) is not None


def shares_memory(one: str, other: str, third: str) -> bool:
    """A store, and an access to the same place or from another base."""
    bases = [re.search(r"\[(\w+)", line) for line in (one, other)]
    places = [line[line.find("[") :] for line in (one, other)]
    are_accesses = re.match(r" *v?str", one) is not None and re.match(r" *v?(ldr|str)", other) is not None
    return are_accesses and None not in bases and (bases[0][1] != bases[1][1] or places[0] == places[1])


def written(line: str) -> list[str]:
    return results(*parts(line))


def read(line: str) -> list[str]:
    word, rest = parts(line)
    return registers(rest)[len(results(word, rest)) :]


def parts(line: str) -> tuple[str, str]:
    word, _, rest = line.strip().partition(" ")
    return word.partition(".")[0], rest


@pytest.mark.parametrize("kind", [reads_the_result, writes_an_operand, shares_memory, sets_the_flags_of_a_branch])
@pytest.mark.parametrize("board", dict.fromkeys(CORES.values()))
def test_the_check_finds_every_dependent_pair_of_lines_that_changes_places(kind, board):
    pairs = [(text, number) for text, number, lines in neighbours(board) if kind(*lines)]
    missed = []
    for text, number in random.Random(1).sample(pairs, min(FAULTS, len(pairs))):
        lines = text.splitlines()
        lines[number : number + 2] = lines[number + 1], lines[number]
        missed += [] if differences(text, "\n".join(lines)) else lines[number : number + 2]
    assert missed == []
    assert pairs or kind is sets_the_flags_of_a_branch


def of_another_word(line: str) -> str:
    return re.sub(r"#(-?\d+)\]", lambda match: f"#{int(match[1]) + 4}]", line)


def to_another_register(line: str) -> str:
    return re.sub(r"ldr (\w+)", lambda match: "ldr r3" if match[1] != "r3" else "ldr r2", line)


def that_moves_its_address_by_another_number(line: str) -> str:
    return re.sub(r"\], #(\d+)", lambda match: f"], #{int(match[1]) + 4}", line)


def of_nothing(line: str) -> str:
    return ""


@pytest.mark.parametrize("fault", [of_another_word, to_another_register, that_moves_its_address_by_another_number, of_nothing])
def test_the_check_finds_every_wrong_half_of_a_divided_load(fault):
    places = []
    for text in texts(CORES["cortex-m7"]):
        new = ordered_text(text, load_timing("cortex-m7")).splitlines()
        added = {line for line in new if line not in text and re.match(r' *" *ldr ', line) and fault(line) != line}
        places += [(text, new, number) for number, line in enumerate(new) if line in added]
    missed = []
    for text, new, number in random.Random(2).sample(places, FAULTS // 4):
        wrong = [*new[:number], fault(new[number]), *new[number + 1 :]]
        missed += [] if differences(text, "\n".join(wrong)) else [new[number]]
    assert missed == []


def test_a_line_that_is_lost_or_moved_across_a_label_is_found():
    text = next(
        text for text in texts("mps2-an386") if sum(1 for straight, run in runs_of(lines_of(text)) if straight and run) > 2
    )
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines_of(text)) if is_straight(line))
    label = next(number for number, line in enumerate(lines) if re.match(r' *"\d+:', line))
    lost = [*lines[:first], *lines[first + 1 :]]
    across = [*lost[: label + 1], lines[first], *lost[label + 1 :]]
    assert differences(text, "\n".join(lost)) and differences(text, "\n".join(across))
