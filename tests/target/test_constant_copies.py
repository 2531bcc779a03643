# SPDX-License-Identifier: MIT
"""--copy-constants: constants in slow memory are copied into the arena where that pays, are there when layers read them, and the
cost of access falls by at least what was estimated."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.boards import load_board
from aidge_build.build.compile import assigned, bands_of, build_program, demands_of, import_model
from aidge_build.build.emit import emit
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.constant_copies import SET_UP, copies_that_pay, costs_of, reads_at_least, require_alone, with_copies
from aidge_build.plan.options import Options
from aidge_build.plan.placement import check_memory, place_with_added_buffers
from aidge_build.plan.planning import plan_memory
from aidge_build.plan.program import Program
from aidge_build.plan.schedule.copies import ConstantCopy, CopiedArray, arrays_in_line
from aidge_build.run.toolchain import build_program as build_linked
from tests.access_model import Inference, timed
from tests.command import aidge_build
from tests.compiled import request_of
from tests.programs import ROOT, needs_cross_compiler

STRESS = "AIDGE_STRESS" in os.environ
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
XIP = """extends = "mps2-an386"
constants = "XIP"
[regions.XIP]
origin = 0x90000000
length = "1M"
kind = "flash"
access_cost = 8
"""


@pytest.fixture(scope="module")
def boards(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("boards")
    (folder / "xip.toml").write_text(XIP)
    (folder / "lines.toml").write_text('extends = "xip"\ndma_line = 32\n')
    return folder


def ran(folder: Path, boards: Path, mode: str, *words: str, board: str = "xip") -> tuple[Inference, bytes, dict]:
    numpy.savez(folder / "io.npz", x=numpy.random.default_rng(1).integers(-128, 128, (2, 1, 1, 8, 8)).astype(numpy.int8))
    kept = folder / mode
    given = ("--board", board, "--board-path", boards, "--copy-constants", mode, "--io-data", folder / "io.npz", "--keep", kept)
    result = aidge_build("verify", DIGITS, *given, *words)
    assert result.exit_code == 0, result
    checked = aidge_build("check", kept / "model.elf", "--board", board, "--board-path", boards)
    assert checked.exit_code == 0 and "MEM02" not in checked.stdout, checked
    found = timed(kept / "model.elf", load_board(board, [boards]), "model", mode == "hook")
    return found, (kept / "output.bin").read_bytes(), json.loads((kept / "model.plan.json").read_text())


@needs_cross_compiler
@pytest.mark.parametrize("words", [(), ("--lib", "ref")][: 2 if STRESS else 1])
def test_copies_are_there_when_layers_read_them_and_save_what_was_estimated(words, boards, tmp_path):
    stays, output, plan = ran(tmp_path, boards, "off", *words)
    assert "copied_constants" not in plan
    for mode in ("memcpy", "hook"):
        found, same, plan = ran(tmp_path, boards, mode, *words)
        saved = sum(copy["saved_cost"] for copy in plan["copied_constants"])
        assert same == output and found.runs == stays.runs == 2
        assert stays.cycles - found.cycles >= 2 * saved > 0
        words_of_copies = sum(-(-copy["size_bytes"] // 4) for copy in plan["copied_constants"])
        read = found.reads.get("XIP", 0) - (2 * words_of_copies if mode == "memcpy" else 0)
        assert read < stays.reads["XIP"] / 10  # what stays there, and the padding of tables in flash
        assert (found.transfers > 0, found.waited > 0) == (mode == "hook",) * 2
        buffers = {buffer["name"]: buffer for buffer in plan["buffers"] if buffer["kind"] == "copy"}
        order = plan["order"]
        for copy in plan["copied_constants"]:
            buffer, step = buffers[f"constants of {copy['layer']}"], order.index(copy["layer"])
            assert (order[buffer["first"]], buffer["last"]) == (copy["from_layer"], step + 1)
            assert step - buffer["first"] == (1 if mode == "hook" and step else 0)


def program(boards: Path, board: str = "xip", **options) -> Program:
    loaded = load_board(board, [boards])
    request = request_of(DIGITS.read_bytes(), "digits.onnx", loaded)
    return build_program(replace(request, options=Options(**options)))


def test_one_transfer_runs_at_a_time_and_each_is_waited_for_before_its_layer(boards):
    made = program(boards, copy_constants="hook", io="arena")
    text = emit(made).files["net.c"].decode()
    calls = [line.strip().partition("(") for line in text.splitlines() if line.startswith("    net_copy_") and line.endswith(";")]
    under_way: list[str] = []
    for name, _, arguments in calls:
        place, *_, count = arguments.removesuffix(");").split(", ")
        if name == "net_copy_start":
            assert not under_way
            under_way.append(f"{place} {count}")
        else:
            assert under_way == [f"{place} {count}"]
            under_way.clear()
    assert not under_way and len(calls) == 2 * sum(len(layer.copied.copy.arrays) for layer in made.layers if layer.copied) > 4


def test_behind_a_data_cache_copies_by_dma_have_lines_of_their_own(boards):
    for mode, alignment in (("hook", 32), ("memcpy", 8)):
        made = program(boards, "lines", copy_constants=mode)
        copies = [layer.copied for layer in made.layers if layer.copied]
        assert len(copies) > 2 and made.memory.alignment % alignment == 0
        for copied in copies:
            assert copied.offset_bytes % alignment == copied.copy.size_bytes % alignment == 0
            assert all(array.offset_bytes % alignment == 0 for array in copied.copy.arrays)


def test_the_cost_of_a_copy_is_its_transfer_its_calls_and_its_reads():
    assert costs_of(1000, 100, 1, 8, 1, None) == (8000, 1000 + 100 * 9 + SET_UP)
    assert costs_of(1000, 100, 3, 8, 2, 0) == (8000, 2000 + 100 * 10 + 3 * SET_UP)
    assert costs_of(1000, 100, 1, 8, 1, 899) == (8000, 1000 + 1 + SET_UP)
    assert costs_of(1000, 100, 1, 8, 1, 901) == (8000, 1000 + SET_UP)


def test_a_word_of_weights_is_read_once_and_again_for_each_four_pixels(boards):
    layers = program(boards).layers
    convolution = next(layer for layer in layers if layer.node.type == "Conv2D")
    copy = replace(convolution, macs=0)
    assert reads_at_least(convolution, 0) == convolution.macs // 16
    assert reads_at_least(convolution, 10**9) == 10**9
    wide = replace(convolution, inputs=(*convolution.inputs[:1], *(convolution.inputs[2:] * 2)))
    assert reads_at_least(wide, 0) == convolution.macs // 4
    assert reads_at_least(copy, 10**9) == copy.outputs[0].elements


def test_layers_that_read_each_weight_once_stay_for_the_core_and_go_by_dma_where_a_layer_hides_the_transfer(boards):
    without = program(boards)
    slow = next(region for region in without.target.regions if region.name == "XIP")
    fast = next(region for region in without.target.regions if region.name == without.memory.region)

    def copied(mode: str, slow=slow, before: int = 0) -> dict[str, ConstantCopy]:
        layers = [*without.layers]
        layers[number - 1] = replace(layers[number - 1], macs=before)
        asked = replace(without, layers=tuple(layers), options=Options(copy_constants=mode))
        return {copy.node: copy for copy in copies_that_pay(asked, slow, fast, 0)}

    number = next(index for index, layer in enumerate(without.layers) if layer.node.type == "FC")
    dense = without.layers[number]
    core, dma = copied("memcpy", before=10**6), copied("hook", before=10**6)
    assert dense.node.name not in core and dense.node.name in dma and set(core) < set(dma)
    assert dense.node.name not in copied("hook")
    assert all(copy.first == copy.step for copy in core.values())
    assert all(copy.first == max(0, copy.step - 1) for copy in dma.values())
    assert all(copy.saved > 0 for copy in (*core.values(), *dma.values()))
    assert not copied("memcpy", replace(slow, access_cost=1))


@cache
def whole(boards: Path):
    """What `with_copies` is given on the board: the program without copies, its schedule and places; and what made these."""
    board = load_board("xip", [boards])
    request = replace(request_of(DIGITS.read_bytes(), "digits.onnx", board), options=Options(copy_constants="memcpy"))
    assignment, _ = assigned(import_model(request)[0], request)
    demands = cache(partial(demands_of, assignment))
    assignment, schedule, placed = plan_memory(assignment, demands, request.options, board, bands_of(request))
    return replace(program(boards), options=request.options), schedule, placed, board, assignment, demands


def copied_within(boards: Path, room: int):
    """What comes of a memory with so many bytes for the arena, and no other."""
    without, schedule, placed, board, assignment, _ = whole(boards)
    home = next(region for region in board.regions if region.name == placed.region)
    small = replace(home, length_bytes=room + board.reserved_bytes)
    regions = tuple(small if region is home else region for region in board.regions)
    board = replace(board, regions=regions, arena_regions=(small,))
    placing = partial(place_with_added_buffers, placed, assignment.view, without.options, board)
    return with_copies(without, schedule, placing(schedule), board, placing)


def test_what_has_no_room_stays_and_the_arena_stays_in_its_memory(boards):
    _, _, placed, _, assignment, demands = whole(boards)
    schedule, everything, said = copied_within(boards, 1 << 20)
    assert len(schedule.copies) > 2 and "more would pay" not in said
    reached = []
    for room in range(placed.arena.peak_bytes, everything.arena.peak_bytes + 8, 200 if STRESS else 800):
        trial, new, said = copied_within(boards, room)
        check_memory(trial, new, assignment, demands)
        assert new.arena.peak_bytes <= room and new.region == placed.region
        assert ("has no room for the constants" in said) == (not trial.copies)
        assert ("more would pay" in said) == (0 < len(trial.copies) < len(schedule.copies))
        reached.append(len(trial.copies))
    assert reached[0] < len(schedule.copies) and reached == sorted(reached)
    assert len(copied_within(boards, everything.arena.peak_bytes)[0].copies) == len(schedule.copies)


def test_the_replay_finds_a_copy_that_overwrites_what_is_still_read(boards):
    _, _, _, _, assignment, demands = whole(boards)
    schedule, placed, _ = copied_within(boards, 1 << 20)
    check_memory(schedule, placed, assignment, demands)
    copy = schedule.copies[1]
    early = replace(copy, first=0)
    wrong = replace(schedule, copies=tuple(early if one is copy else one for one in schedule.copies))
    with pytest.raises(CheckFailed) as caught:
        check_memory(wrong, placed, assignment, demands)
    assert caught.value.code == "PLAN02" and f"holds '{copy.name}'" in str(caught.value)


@needs_cross_compiler
@pytest.mark.parametrize(("defined", "codes"), [(("start",), 1), (("start", "wait"), 0)])
def test_a_program_that_defines_one_hook_alone_is_found(defined, codes, boards, tmp_path):
    for name, data in emit(program(boards, copy_constants="hook")).files.items():
        (tmp_path / name).write_bytes(data)
    bodies = {
        "start": "void net_copy_start(void *to, const void *from, uint32_t bytes) { (void)to; (void)from; (void)bytes; }",
        "wait": "void net_copy_wait(void *to, uint32_t bytes) { (void)to; (void)bytes; }",
    }
    text = ['#include "net.h"', "static int8_t in[64], out[10];", "int main(void) { return net_run(in, out); }"]
    (tmp_path / "main.c").write_text("\n".join([*text, *(bodies[name] for name in defined)]) + "\n")
    sources = [tmp_path / name for name in ("main.c", "net.c", "net_weights.c")]
    board = load_board("xip", [boards])
    elf = build_linked(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "o", include_folders=[tmp_path])
    checked = aidge_build("check", elf, "--board", "xip", "--board-path", boards)
    assert (checked.exit_code, checked.stdout.count("DMA03")) == (codes, codes), checked


@pytest.mark.parametrize(
    ("board", "options", "reason"),
    [
        ("mps2-an386", {}, "SSRAM1 with the constants costs 1, SSRAM23 with the arena 1"),
        ("xip", {}, ""),
        ("nodma", {"copy_constants": "hook"}, "no DMA reaches SSRAM23 with the arena"),
        ("nodma", {"copy_constants": "memcpy"}, ""),
    ],
)
def test_the_build_says_what_it_copies_and_why_it_does_not(board, options, reason, boards):
    (boards / "nodma.toml").write_text(
        'extends = "xip"\n[regions.SSRAM23]\norigin = 0x20000000\nlength = "4M"\nkind = "ram"\ndma = false\n'
    )
    made = program(boards, board, **({"copy_constants": "memcpy"} | options))
    (notice,) = (notice for notice in made.notices if "copied ahead" in notice)
    assert notice == f"no constants are copied ahead: {reason}" if reason else "layers are copied ahead from XIP: " in notice
    assert any(layer.copied for layer in made.layers) == (not reason)


PLAIN = argparse.Namespace(
    copy_constants="hook",
    arena="static",
    update="none",
    input="whole",
    output="whole",
    memory_model="default",
    ram_budget=None,
    max_step=None,
)


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"arena": "caller"}, "the address of the caller's arena is not known. Hint: without --arena,"),
        ({"update": "weights"}, "the sizes of weights that can be replaced are not known. Hint: without --update,"),
        ({"input": "rows"}, "again and again. Hint: without --input,"),
        ({"output": "rows"}, "again and again. Hint: without --output,"),
        ({"memory_model": "cascade"}, "again and again. Hint: without --memory-model,"),
        ({"ram_budget": "20K"}, "again and again. Hint: without --ram-budget,"),
        ({"max_step": 50000}, "a step would end while constants are copied. Hint: without --max-step,"),
    ],
)
def test_what_cannot_be_combined_is_refused_in_one_line(others, reason):
    board = load_board("mps2-an386")
    require_alone(PLAIN, board)
    require_alone(argparse.Namespace(**{**vars(PLAIN), **others, "copy_constants": "off"}), None)
    with pytest.raises(AidgeError) as caught:
        require_alone(argparse.Namespace(**{**vars(PLAIN), **others}), board)
    assert reason in str(caught.value) and str(caught.value).startswith("--copy-constants: ")


def test_without_a_board_no_memory_has_a_cost():
    for board in (None, load_board("host")):
        with pytest.raises(AidgeError) as caught:
            require_alone(PLAIN, board)
        assert "only a board has memories of known costs" in str(caught.value)


def test_constants_that_lie_in_a_faster_memory_stay_there(boards):
    (boards / "tcm.toml").write_text('extends = "xip"\n[regions.TCM]\norigin = 0x10000000\nlength = "64K"\nkind = "ram"\n')
    made = program(boards, "tcm", copy_constants="hook", constants_in=(("TCM", 2048),))
    arrays = arrays_of(made)
    moved = {array.symbol for array in arrays.all if array.region == "TCM"}
    copied = {
        arrays.of_layer[number][array.position].symbol
        for number, layer in enumerate(made.layers)
        for array in (layer.copied.copy.arrays if layer.copied else ())
    }
    everything = program(boards, "tcm", copy_constants="hook")
    assert moved and copied and not moved & copied
    assert sum(bool(layer.copied) for layer in made.layers) < sum(bool(layer.copied) for layer in everything.layers)


def test_arrays_of_a_copy_lie_one_behind_the_other_each_aligned():
    arrays = arrays_in_line([(2, 9), (3, 8), (5, 1)], 8)
    assert arrays == (CopiedArray(2, 0, 9), CopiedArray(3, 16, 8), CopiedArray(5, 24, 1))
    copy = ConstantCopy("conv", 3, 4, arrays, 8)
    buffer = copy.buffer
    assert (buffer.size_bytes, buffer.alignment, buffer.first, buffer.last, buffer.kind) == (32, 8, 3, 5, "copy")
