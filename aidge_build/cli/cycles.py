# SPDX-License-Identifier: MIT
"""Estimated cycles and milliseconds of an inference, as text and as JSON."""

from __future__ import annotations

import math

from aidge_build.boards.board import Board
from aidge_build.boards.cores import MVE
from aidge_build.prove.calibrations import validation_of
from aidge_build.prove.elf.findings import ERROR, Finding
from aidge_build.prove.timing.deviation import measured_deviation
from aidge_build.prove.timing.estimate import Cycles
from aidge_build.run.emulate import LayerCount, RunResult

_LARGE_SHARE = 0.25  # of the time; another build of the model then saves most of it


def cycle_lines(result: RunResult, board: Board) -> list[str]:
    """The cycles of an inference, how far they can be trusted, and the time at the board's clock; or why there is no estimate."""
    if result.runs and not board.core.timing and not board.is_host:
        return [f"no estimate of cycles: core {board.core.name} has no timing table"]
    first, *others = time_lines(result, board) or [""]
    return [f"{first} ({validation_of(board.core)}{_assumed(board)})", *others] if first else []


def _assumed(board: Board) -> str:
    """Returns the settings that the estimate takes from the board's file, whatever the firmware sets."""
    switches = board.flash.switches if board.flash and board.flash_wait_states != 0 else ""
    parts = [*(["its clock"] if board.clock_hz else []), *([f"{switches} of its flash on"] if switches else [])]
    return f"; as the board's file says: {', '.join(parts)}" if parts else ""


def cache_lines(result: RunResult, board: Board) -> list[str]:
    """Returns notes about caches of the core that the estimate of cycles counts on and the firmware does not switch on."""
    flash = board.flash
    described = {"code": flash.code_cache, "data": flash.data_cache} if flash and board.flash_wait_states != 0 else {}
    off = [name for name in result.caches_off if described.get(name)]
    if result.run_cycles is None or not result.runs or not off:
        return []
    switches = " and ".join({"code": "SCB_EnableICache()", "data": "SCB_EnableDCache()"}[name] for name in off)
    named = " and ".join(off)
    return [f"the firmware does not switch the core's cache for {named} on, as the estimate takes it: {switches} of CMSIS"]


def time_lines(result: RunResult, board: Board) -> list[str]:
    """The same without the errors of the estimate."""
    cycles, runs = result.run_cycles, result.runs
    if cycles is None or not runs:
        return []
    lines = [f"{_time(cycles.total, runs, board, ' per inference')}{_stalls(cycles, runs, board)}"]
    share = (cycles.code_stalls or 0) / cycles.total if cycles.total else 0
    if share >= _LARGE_SHARE:
        lines.append(
            f"the core waits for code {100 * share:.0f} % of the time: --optimize size makes code for a small cache, --place "
            "moves it to a faster memory (docs/howto-fast-memory.md)"
        )
    if cycles.total_uncached is not None:
        lines.append(f"{_time(cycles.total_uncached, runs, board)} without the cache of the external flash")
    if board.nanojoules_per_cycle:
        energy = board.nanojoules_per_cycle
        lines.append(f"~{cycles.total / runs * energy / 1e3:,.1f} uJ per inference at {energy:g} nJ per cycle")
    return lines


def time_of(result: RunResult, board: Board) -> str:
    """The cycles of an inference, and the time at the board's clock; "" without an estimate."""
    return _time(result.run_cycles.total, result.runs, board) if result.run_cycles and result.runs else ""


def cycle_data(result: RunResult, board: Board) -> dict:
    """The numbers of all runs together, and of an inference; None: not known."""
    cycles = result.run_cycles
    return {
        "run_cycles_estimated": cycles.total if cycles else None,
        "run_core_cycles": cycles.core if cycles else None,
        "run_code_stalls": cycles.code_stalls if cycles else None,
        "run_data_stalls": cycles.data_stalls if cycles else None,
        "run_cycles_uncached": cycles.total_uncached if cycles else None,
        **inference_data(result, board),
    }


def inference_data(result: RunResult, board: Board) -> dict:
    """The numbers of an inference, the mean over all; None: not known."""
    cycles, runs = result.run_cycles, result.runs
    mean = cycles.total / runs if cycles and runs else None
    return {
        "cycles_per_inference": None if mean is None else round(mean),
        "milliseconds": 1e3 * mean / board.clock_hz if mean is not None and board.clock_hz else None,
        "nanojoules": mean * board.nanojoules_per_cycle if mean is not None and board.nanojoules_per_cycle else None,
        "cycles_validation": validation_of(board.core) or "not estimated: no numbers for this core",
    }


def cycle_findings(result: RunResult, board: Board, max_cycles: int | None, max_ms: float | None) -> list[Finding]:
    """Returns findings for an inference above its budgets: as a board counted it, or else as the estimate says with its largest
    stated error. A budget that cannot be compared is a finding, too."""
    found = []
    if max_cycles is not None:
        found.append(_over(result, board, max_cycles, 1.0, "cycles"))
    if max_ms is not None:
        found.append(_over(result, board, max_ms, board.clock_hz / 1e3, "ms"))
    return [finding for finding in found if finding is not None]


def _over(result: RunResult, board: Board, budget: float, cycles_per_unit: float, unit: str) -> Finding | None:
    found = _most(result, board)
    if not isinstance(found, str) and not cycles_per_unit:
        found = f"the file of board {board.name} states no clock"
    if isinstance(found, str):
        return Finding("CYC01", ERROR, f"the budget of {unit} cannot be checked: {found}", "use --max-instructions")
    most = found[0] / cycles_per_unit
    if most <= budget:
        return None
    said = f"{_number(most, unit)} {unit} per inference, measured"
    if found[1] is not None:
        cache = " without the cache of the external flash" if result.run_cycles and result.run_cycles.uncached is not None else ""
        mean = _number(found[1] / cycles_per_unit, unit)
        said = f"up to {_number(most, unit)} {unit} per inference, estimated at {mean}{cache}"
    return Finding("CYC01", ERROR, f"{said}, the budget is {_number(budget, unit)} (+{_number(most - budget, unit)})")


def _most(result: RunResult, board: Board) -> tuple[float, float | None] | str:
    """The cycles that an inference takes at most, and their estimate: None if a board counted them. A text: why nobody knows."""
    cycles, measured = result.run_cycles, result.measured
    if measured and measured.counter:
        known = measured.per_inference if None not in measured.per_run else None
        return f"an inference takes more cycles than {measured.counter} counts" if known is None else (known, None)
    if cycles is None or not result.runs:
        return "no inference was counted, or the core has no timing table"
    error = measured_deviation(board.core, board.features)
    if error is None:
        kind = " with vector instructions" if MVE in board.features else ""
        return f"no program{kind} was measured on a {board.core.name}, so the error of its estimates is not known"
    if not cycles.are_complete:
        return f"the file of board {board.name} does not describe its flash"
    mean = (cycles.total if cycles.total_uncached is None else cycles.total_uncached) / result.runs
    return error.bound_of(mean), mean


def _number(number: float, unit: str) -> str:
    return f"{math.ceil(number):,}" if unit == "cycles" or number >= 1000 else f"{number:.3g}"


def layer_cycle_data(layer: LayerCount) -> dict:
    """The numbers of a layer in all runs together."""
    cycles = layer.cycles
    return {
        "cycles_estimated": cycles.total if cycles else None,
        "code_stalls": cycles.code_stalls if cycles else None,
        "data_stalls": cycles.data_stalls if cycles else None,
        "flash_lines": cycles.data_lines if cycles else None,
    }


def _time(cycles: int, runs: int, board: Board, of_what: str = "") -> str:
    text = f"~{round(cycles / runs):,} cycles{of_what}"
    return f"{text}, ~{1e3 * cycles / runs / board.clock_hz:,.1f} ms at {board.clock_hz / 1e6:g} MHz" if board.clock_hz else text


def _stalls(cycles: Cycles, runs: int, board: Board) -> str:
    """Returns how many of the cycles are stalls of the flash, and which stalls are unknown."""
    if board.flash_wait_states == 0:
        return ""
    parts = [("code", cycles.code_stalls), ("constants", cycles.data_stalls)]
    known = [(of_what, round(stalls / runs)) for of_what, stalls in parts if stalls is not None]
    unknown = " and ".join(of_what for of_what, stalls in parts if stalls is None)
    shown = " and ".join(f"{stalls:,}{'' if index else ' cycles'} for {of_what}" for index, (of_what, stalls) in enumerate(known))
    text = f", with stalls of {shown} in flash" if known else ""
    return f"{text}, without stalls for {unknown} in flash, which the board's file does not describe" if unknown else text
