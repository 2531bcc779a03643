# SPDX-License-Identifier: MIT
"""Writes boards/networks: what the networks of MLPerf Tiny took on each core and behind each flash, by the emulator.

A program runs once for all boards with the same instructions: the counts hold the lines of flash through the caches of each.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aidge_build.boards import Board, list_boards, load_board
from aidge_build.compile import build_program
from aidge_build.elf import read_image
from aidge_build.emulate import run_program
from aidge_build.emulate.estimate import program_timing
from aidge_build.fit.firmware import roomy
from aidge_build.inputs import add_model_arguments, load
from aidge_build.prediction.predict import predict
from aidge_build.timing.estimate import Cycles, Executed, Timing, sum_cycles
from aidge_build.timing.memory import caches_of
from aidge_build.timing.networks import OTHER, described
from aidge_build.timing.table import timing_of
from aidge_build.verify.firmware import execute
from aidge_build.verify.vectors import random_vectors

# The core whose cycles the prediction tables of these features hold.
REFERENCES = {"dsp-fpu-thumb2": "cortex-m4", "dsp-thumb2": "cortex-m4", "thumb2": "cortex-m3", "narrow": "cortex-m0plus"}
HEAD = """# SPDX-License-Identifier: MIT
# Written by `python -m tools.prediction networks`: do not edit. Least and most of kernels in networks of MLPerf Tiny.
# core: cycles by this core's timing table, as a share of what is predicted with the measured layers of a {reference}.
# stalls (and uncached, without the cache of an external flash): as a share of the cycles of the core.
"""
_ALONE = 1.15  # by which the share of a kernel may be off that one network alone has


@dataclass(frozen=True)
class _Recorder(Timing):
    """Keeps what was executed."""

    seen: list[Executed] = field(default_factory=list)

    def cycles(self, executed: Executed, layers: Sequence[int]) -> tuple[Cycles, dict[int, Cycles]]:
        """The cycles of all runs, and of each of these layers."""
        self.seen.append(executed)
        return super().cycles(executed, layers)


def groups() -> dict[str, list[Board]]:
    """The emulated boards with a timing table, by their features; the first of each is of the reference core."""
    found: dict[str, list[Board]] = {}
    for board in map(load_board, list_boards()):
        emulated = board.emulator and board.emulator.kind == "unicorn" and not board.core.said
        features = "-".join(sorted(board.features))
        if emulated and timing_of(board.core) and features in REFERENCES:
            found.setdefault(features, []).append(board)
    return {
        features: sorted(boards, key=lambda board: (board.core.name != REFERENCES[features], board.name))
        for features, boards in sorted(found.items())
    }


def shares(model: Path, boards: Sequence[Board]) -> Iterator[tuple[Board, str, str, float]]:
    """Of each board, for each kernel of the network and for all of it (OTHER): "core", cycles of the core by predicted ones;
    "stalls", by cycles of the core; the same "uncached"."""
    first = boards[0]
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args([str(model), "--board", first.name]), "network")
    program = build_program(request)
    prediction = predict(program, request.libraries, request.target)
    predicted = {**prediction.cycles_by_kernel, OTHER: prediction.cycles or 0.0}
    board = roomy(first, first.name)
    caches = [caches_of(each.flash) for each in boards]
    symbols = [layer.symbol for layer in program.layers]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        elf = execute(program, board, random_vectors(program.view, 1, seed=0), folder).elf
        timing = program_timing(elf, board)
        assert timing is not None
        recorder = _Recorder(timing.table, timing.instructions, tuple(one for each in caches for one in each))
        run_program(elf, board, work_folder=folder, run_symbol="network_run", layer_symbols=symbols, timing=recorder)
        image = read_image(elf)
    places = [symbol.address for symbol in map(image.symbol, symbols) if symbol]
    order = sorted(range(len(symbols)), key=lambda index: places[index])
    kernels = [f"{program.layers[index].kernel.library} {program.layers[index].kernel.name}" for index in order]
    executed = recorder.seen[0]
    at = 0
    for each, own in zip(boards, caches, strict=True):
        lines, at = executed.lines[at : at + len(own)], at + len(own)
        table = timing_of(each.core, each.multiplier_cycles)
        assert table is not None
        stall = each.flash.stall_cycles if each.flash and each.flash.stall_cycles is not None else each.flash_wait_states
        found = _by_kernel(Timing(table, timing.instructions, own, stall), Executed(executed.edges, lines), kernels)
        for kernel, cycles in found.items():
            if predicted.get(kernel):
                yield each, "core", kernel, cycles.core / predicted[kernel]
            if cycles.are_complete and each.flash:
                yield each, "stalls", kernel, cycles.total / cycles.core - 1
            if cycles.uncached is not None:
                yield each, "uncached", kernel, cycles.uncached / cycles.core


def _by_kernel(timing: Timing, executed: Executed, kernels: Sequence[str]) -> dict[str, Cycles]:
    """The cycles of each kernel, and of the whole network."""
    whole, layers = timing.cycles(executed, range(len(kernels)))
    found = {
        kernel: sum_cycles([layers[slot] for slot, name in enumerate(kernels) if name == kernel])
        for kernel in sorted(set(kernels))
    }
    return {**{kernel: cycles for kernel, cycles in found.items() if cycles.core}, OTHER: whole}


def write_networks(folder: Path, models: Sequence[Path], of_floats: Sequence[Path]) -> None:
    """Writes a file for each core that a board has; networks `of_floats` run on cores with an FPU alone."""
    found: dict[str, dict[str, dict[str, dict[str, list[float]]]]] = {}
    reference: dict[str, str] = {}
    for features, boards in groups().items():
        for model in (*models, *(of_floats if "fpu" in features else ())):
            for board, kind, kernel, share in shares(model, boards):
                reference[board.core.name] = REFERENCES[features]
                flash = "" if kind == "core" else described(board)
                kinds = found.setdefault(board.core.name, {}).setdefault(flash, {})
                kinds.setdefault(kind, {}).setdefault(kernel, []).append(share)
    folder.mkdir(exist_ok=True)
    for name, flashes in sorted(found.items()):
        lines = [f"networks = {len(models) + len(of_floats)}"]
        for flash, kinds in sorted(flashes.items()):
            for kind, kernels in sorted(kinds.items()):
                lines += ["", f'[flash."{flash}".{kind}]' if flash else f"[{kind}]"]
                lines += [f'"{kernel}" = {_range(values)}' for kernel, values in sorted(kernels.items())]
        head = HEAD.format(reference=reference[name].replace("cortex-m", "Cortex-M").replace("plus", "+"))
        (folder / f"{name}.toml").write_text(head + "\n".join(lines) + "\n")


def _range(values: Sequence[float]) -> str:
    """Several boards have one flash, and run a network with equal counts: one network is one distinct value."""
    least, most = min(values), max(values)
    if least == most and least not in (0.0, 1.0):
        least, most = least / _ALONE, most * _ALONE
    return f"[{least:.3f}, {most:.3f}]"
