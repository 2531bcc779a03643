# SPDX-License-Identifier: MIT
"""The verb `plan`: the memory plan of a model alone."""

from __future__ import annotations

import argparse

from aidge_build.cli.outcome import Outcome
from aidge_build.compile import build_program
from aidge_build.emit import emit
from aidge_build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.memory.picture import render_text

SUMMARY = "the memory plan of a model"
KEYS = ("peak_bytes", "lower_bound_bytes", "bound_node", "order_peak_bytes", "order_proved_optimal", "offsets_proved_optimal",
        "scratch_bytes", "state_bytes", "io_bytes", "arena_bytes", "regions", "order", "buffers", "peak_buffers")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)


def run(arguments: argparse.Namespace) -> Outcome:
    program = build_program(load(arguments, NAME_TO_LOOK_AT))
    manifest = emit(program).manifest
    data = {key: manifest[key] for key in KEYS}
    notices = [f"{arguments.model}: {notice}" for notice in program.notices]
    lines = [*notices,
             f"{arguments.model}: peak {data['peak_bytes']:,} B with inputs and outputs; lower bound {data['lower_bound_bytes']:,} B "
             f"(max-live at {data['bound_node']}); offsets {'optimal' if data['offsets_proved_optimal'] else 'not proven'}",
             f"arena {data['arena_bytes']:,} B, inputs and outputs {data['io_bytes']:,} B ({arguments.io}), scratch {data['scratch_bytes']:,} B",
             render_text(program.peak, max(1, len(program.layers)))]
    return Outcome("\n".join(lines), data)
