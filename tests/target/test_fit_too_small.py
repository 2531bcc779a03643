# SPDX-License-Identifier: MIT
"""Where a model is said not to fit, the link fails, for as many bytes as were said; with so many more it succeeds."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from aidge_build.boards import Board, list_boards, load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import load
from aidge_build.cli.parsing import verb_parser
from aidge_build.measure.fit.evaluate import evaluate_together
from aidge_build.measure.fit.evaluation import TOO_SMALL, Evaluation
from aidge_build.measure.fit.firmware import Firmware, StartUps
from aidge_build.measure.fit.question import Question, opened, read_questions
from aidge_build.measure.fit.sharing import board_of, equivalence_key
from aidge_build.plan.arena_regions import kept_in
from aidge_build.run.toolchain.failed_link import TooLarge
from tests.programs import needs_cross_compiler
from tests.row_networks import chain
from tests.shared import MODELS, int8_model
from tests.small_model import small_model

pytestmark = needs_cross_compiler

ALIGNMENT = 16  # bytes that arrays may leave unused before them


def questions_about(path, boards, *words) -> list[Question]:
    return read_questions(verb_parser("plan").parse_args([str(path), *map(str, words)]), boards)


def lengthened(board: Board, missing: dict[str, int]) -> Board:
    """The board with as many bytes more as are missing."""
    regions = tuple(replace(one, length_bytes=one.length_bytes + missing.get(one.name, 0)) for one in board.regions)
    by_name = {region.name: region for region in regions}
    return replace(board, regions=regions, arena_regions=tuple(by_name[region.name] for region in board.arena_regions))


def with_flash(board: Board) -> Board:
    """The board with more flash than any program fills."""
    return lengthened(board, {region.name: 1 << 24 for region in board.regions if region.kind == "flash"})


def firmware_for(question: Question, board: Board, folder) -> Firmware:
    """The smallest firmware with the program for the board, whose data and stack take what the board's file keeps free for
    them."""
    with opened(question) as arguments:
        program = build_program(replace(load(arguments, "model"), board=with_flash(board)))
    start_up = StartUps(board, folder / "start_up")
    plain = Firmware(program, board, folder / "plain", start_up)
    home = next(index for index, region in enumerate(board.regions) if "data" in region.roles)
    inside = sum(part.size_bytes for part in program.memory.parts if part.region == board.regions[home].name)
    taken_bytes = plain.used_with_room(board)[home] - inside
    filled = Firmware(program, board, folder / "filled", start_up)
    kept_bytes = max(1, board.reserved_bytes - taken_bytes - ALIGNMENT)
    main = folder / "filled" / "main.c"
    text = main.read_text().replace(
        "int main(void)\n{", f"static volatile uint8_t kept[{kept_bytes}];\n\nint main(void)\n{{\n    kept[0] = 1u;"
    )
    main.write_text(text)
    return filled


def assert_confirmed(question: Question, found: Evaluation, folder) -> None:
    board, missing = board_of(question.board, question.own_board), dict(found.missing)
    assert missing, found
    planned = board  # or one where the planner finds room for the fewest bytes, and no more
    if found.code == "PLAN01":
        rooms = {one: found.arena_bytes + kept_in(one, board, 0) - one.length_bytes for one in board.arena_regions}
        planned = lengthened(board, {one.name: size for one, size in rooms.items() if one.name in missing})
    firmware = firmware_for(question, planned, folder)
    with pytest.raises(TooLarge) as refused:
        firmware.link(board)
    by_linker = dict(refused.value.missing)
    flash = {one.name for one in board.regions if one.kind == "flash"}
    beyond = flash if found.code == "PLAN01" else set()  # a plan row by row needs more code than that of the core
    assert set(missing) <= set(by_linker) <= set(missing) | beyond, (found, by_linker)
    part = 10 if found.code == "PLAN01" else 50  # of flash
    near = {one.name: 2 * ALIGNMENT if one.kind == "ram" else one.used_bytes // part for one in found.memories}
    assert all(abs(by_linker[name] - missing[name]) <= near[name] for name in missing), (missing, by_linker)
    firmware.link(lengthened(board, {name: missing.get(name, 0) + near[name] for name in by_linker}))


@pytest.fixture
def boards(tmp_path):
    """Boards of a Cortex-M4 with little of everything."""

    def made(name: str, flash: str, ram: str) -> str:
        text = f'extends = "stm32f401"\n[regions.FLASH]\norigin = 0x08000000\nlength = {flash}\nkind = "flash"\n'
        text += f'[regions.SRAM]\norigin = 0x20000000\nlength = {ram}\nkind = "ram"\n'
        (tmp_path / f"{name}.toml").write_text(text)
        return name

    return made


@pytest.mark.parametrize("kind", ["rows", "both", "ram", "flash"] if "AIDGE_STRESS" in os.environ else ["rows", "both"])
def test_what_is_missing_is_what_the_linker_misses(kind, boards, tmp_path):
    model = chain(2) if kind == "rows" else small_model(inputs=900, hidden=64)
    (tmp_path / "model.onnx").write_bytes(model)
    flash, ram = {
        "ram": ('"512K"', "8200"),
        "rows": ('"512K"', "9000"),
        "flash": ("4096", '"64K"'),
        "both": ("2048", "4500"),
    }[kind]
    (question,) = questions_about(tmp_path / "model.onnx", [boards("short", flash, ram)], "--board-path", tmp_path)
    (found,) = evaluate_together([question])
    assert found.verdict == TOO_SMALL
    assert_confirmed(question, found, tmp_path / "programs")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="links five models for many boards: AIDGE_STRESS=1")
def test_every_board_that_is_too_small_for_a_model_of_the_benchmark_fails_to_link(name, tmp_path):
    every = [board for board in list_boards() if load_board(board).regions]
    groups: dict[str, list[Question]] = {}
    for question in questions_about(int8_model(name), every):
        groups.setdefault(equivalence_key(question), []).append(question)
    for questions in groups.values():
        for question, found in zip(questions, evaluate_together(questions), strict=True):
            if found.verdict == TOO_SMALL:
                assert_confirmed(question, found, tmp_path / found.board)
