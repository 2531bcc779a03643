# SPDX-License-Identifier: MIT
"""Cycles of an inference and of its layers on a board with a cycle counter and hardware breakpoints, to the cycle.

The board behind the server executes the program and counts one cycle for each instruction, and some more around each halt.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import unicorn

from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image
from aidge_build.run.emulate import Counted, RunResult, run_program
from aidge_build.run.emulate.program import Program
from aidge_build.run.emulate.unicorn_machine import Machine
from aidge_build.run.probe.measure import observe
from aidge_build.run.probe.server import probe_of
from aidge_build.run.probe.session import on_board
from tests.probe_board import CTRL, CYCCNT, DEMCR, SYST_CSR, Behaviour, ProbedBoard, probed
from tests.programs import build, model, needs_cross_compiler

pytestmark = needs_cross_compiler
BOARD = "mps2-an386"
LAYERS = ("kws_conv", "kws_fc", "kws_gone")


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    return build(BOARD, model(), tmp_path_factory.mktemp("probed"))


@pytest.fixture(scope="module")
def truth(elf) -> dict[str, list[int]]:
    """The instructions between the entry of each function and its return, call by call."""
    program = Program(read_image(elf), load_board(BOARD), elf.parent, ("app",), False, "", (), 1 << 40)
    machine, found, open_calls, total = Machine(program), {}, [], 0
    entries = {program.image.symbol(name).address & ~1: name for name in ("kws_run", "kws_conv", "kws_fc")}

    def on_instruction(core: unicorn.Uc, address: int, size: int, _) -> None:
        nonlocal total
        while open_calls and open_calls[-1][1] == address:
            name, _, start = open_calls.pop()
            found.setdefault(name, []).append(total - start)
        if address in entries:
            link = core.reg_read(unicorn.arm_const.UC_ARM_REG_LR) & ~1
            open_calls.append((entries[address], link, total))
        total += 1

    machine.machine.hook_add(unicorn.UC_HOOK_CODE, on_instruction)
    machine.run()
    machine.release()
    return found


def observed(elf, behaviour: Behaviour, count: int = 3, board_name: str = BOARD) -> tuple[RunResult, ProbedBoard]:
    program = Program(
        read_image(elf), load_board(board_name), elf.parent, ("app",), True, "kws_run", LAYERS, 1 << 40, ("kws_arena",)
    )
    with probed(elf, board_name, behaviour) as (where, board):
        with on_board(program, probe_of(where, 5), ("kws_arena",)) as session:
            result = observe(session, count)
    return result, board


def layers(result: RunResult) -> dict[str, int | None]:
    return {layer.symbol: layer.cycles_measured for layer in result.layers}


VARIANTS = {
    "plain": Behaviour(),
    "two breakpoints": Behaviour(breakpoints=2, latency=11),
    "no halt costs": Behaviour(latency=0),
    "old server": Behaviour(acknowledges=False, knows_single_registers=False, writes_binary=False, reset_commands=(), latency=3),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_cycles_are_those_of_the_functions_to_the_cycle(elf, truth, name):
    behaviour = VARIANTS[name]
    result, _ = observed(elf, behaviour)
    assert result.measured.counter == "CYCCNT"
    assert result.measured.overhead == behaviour.latency
    assert list(result.measured.per_run) == truth["kws_run"]
    assert layers(result) == {"kws_conv": truth["kws_conv"][1], "kws_fc": truth["kws_fc"][1], "kws_gone": None}
    assert result.measured.unseen == ("kws_gone",)
    assert (result.runs, result.exit_code, result.stdout) == (2, 0, "384\n")


def test_no_more_than_two_breakpoints_are_set_at_a_time(elf):
    behaviour = Behaviour()
    observed(elf, behaviour)
    most, now = 0, set()
    for packet in behaviour.log:
        if packet.startswith((b"Z1,", b"z1,")):
            (now.add if packet.startswith(b"Z") else now.discard)(packet.split(b",")[1])
            most = max(most, len(now))
    assert (most, now) == (2, set())


def test_the_counter_is_left_as_it_was_found(elf):
    _, board = observed(elf, Behaviour())
    assert (board.registers[DEMCR], board.registers[CTRL]) == (0, 0)


def test_a_counter_that_does_not_count_is_said_to(elf):
    result, _ = observed(elf, Behaviour(has_dwt=False))
    assert (result.measured.counter, result.measured.per_run) == ("", ())
    assert result.measured.why_not == "not measured: CYCCNT does not count on this board"
    assert set(layers(result).values()) == {None}
    assert result.runs == 2


def test_a_counter_that_stands_still_is_said_to(elf, monkeypatch):
    monkeypatch.setattr(ProbedBoard, "_count", lambda self, cycles: None)
    result, _ = observed(elf, Behaviour())
    assert (result.measured.counter, result.measured.per_run) == ("", ())
    assert result.measured.why_not == "not measured: CYCCNT does not count on this board"


def test_systick_counts_where_the_core_has_no_cycle_counter(elf, truth):
    result, board = observed(elf, Behaviour(has_counter=False))
    assert (result.measured.counter, result.measured.overhead) == ("SysTick", 7)
    assert list(result.measured.per_run) == truth["kws_run"]
    assert layers(result)["kws_fc"] == truth["kws_fc"][1]
    assert board.registers[SYST_CSR] == 0


def test_systick_of_the_firmware_is_not_taken(elf, monkeypatch):
    read = ProbedBoard.read
    monkeypatch.setattr(
        ProbedBoard,
        "read",
        lambda self, address, size: b"\x07\0\0\0" if address == SYST_CSR else read(self, address, size),
    )
    result, board = observed(elf, Behaviour(has_counter=False))
    assert result.measured.why_not == "not measured: the core has no CYCCNT, and the firmware uses SysTick itself"
    assert board.registers[CYCCNT] == 0


def test_an_inference_that_systick_cannot_count_has_no_number(elf, truth, monkeypatch):
    monkeypatch.setattr("aidge_build.run.probe.cycles._SYST_MOST", 1500)
    result, _ = observed(elf, Behaviour(has_counter=False))
    assert result.measured.per_run == (None, None)
    assert result.measured.per_inference is None
    assert result.measured.overhead is None
    assert layers(result)["kws_conv"] is None or layers(result)["kws_conv"] >= truth["kws_conv"][1]


def sectors(log: list[bytes]) -> Iterator[tuple[int, int]]:
    for packet in log:
        if packet.startswith(b"vFlashErase:"):
            address, size = packet.removeprefix(b"vFlashErase:").split(b",")
            yield int(address, 16), int(size, 16)


def test_flash_is_written_by_whole_blocks_and_only_where_it_differs(elf):
    behaviour = Behaviour()
    observed(elf, behaviour, 1)
    erased = list(sectors(behaviour.log))
    assert erased and all(address % 4096 == 0 and size % 4096 == 0 for address, size in erased)
    again = Behaviour()
    program = Program(read_image(elf), load_board(BOARD), elf.parent, ("app",), True, "kws_run", (), 1 << 40)
    with probed(elf, BOARD, again, loaded=True) as (where, _):
        with on_board(program, probe_of(where, 5), ()) as session:
            observe(session, 1)
    assert list(sectors(again.log)) == []


def test_the_stack_is_painted_and_its_mark_is_that_of_the_emulator(elf, tmp_path):
    emulated = run_program(
        elf, load_board(BOARD), work_folder=tmp_path, counted=Counted("kws_run", watched_symbols=["kws_arena"])
    )
    result, _ = observed(elf, Behaviour())
    assert result.stack_high_water_bytes == emulated.stack_high_water_bytes > 0
    assert result.stdout == emulated.stdout
    # It adds 1 and takes 1 away again, but of each fourth byte: those that hold what they held are not seen to be written.
    assert (result.written_bytes, emulated.written_bytes) == (16, 64)


def test_what_an_inference_uses_of_the_stack_is_seen_wherever_the_stack_lies(elf):
    program = Program(read_image(elf), load_board(BOARD), elf.parent, ("app",), True, "kws_run", (), 1 << 40)
    with probed(elf, BOARD) as (where, _):
        with on_board(program, probe_of(where, 5), ()) as session:
            wide, narrow = (observe(session, 1, bound).inference_stack_bytes for bound in (256, 8))
    assert 16 <= wide < 44 and narrow == 8  # main has the rest of the 44 B, and no more is looked at than is painted
