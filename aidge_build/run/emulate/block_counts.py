# SPDX-License-Identifier: MIT
"""A result with the counts of its counter: of inferences, layers, steps and cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aidge_build.run.emulate.program import End, Program, RunResult, Steps


def with_counts(result: RunResult, program: Program, counter, slots: tuple[tuple[int, str], ...], in_steps: int = 0) -> RunResult:
    """Returns the result with counts (`block_counter`), without the inference in which a program was stopped. `in_steps` are the
    inferences that a program without calls of N_run made."""
    inside = bool(counter.running) and result.ended is not End.EXIT
    if inside:
        instructions, runs, layers = counter.finished, counter.finished_runs, counter.finished_layers
    else:
        instructions, runs, layers = counter.inside_run, counter.runs, counter.layers
    executed = counter.executed(inside)
    cycles, layer_cycles = program.estimated(executed, len(slots))
    has_finished = bool(counter.finished_runs)
    return replace(
        result,
        instructions=counter.total,
        run_instructions=instructions if runs else None,
        runs=runs or in_steps,
        layers=program.layer_counts(slots, layers, layer_cycles, counter.layer_steps if counter.steps else None),
        run_cycles=cycles if runs else None,
        start_up_instructions=counter.before_main or None,
        steps=Steps(counter.steps, counter.longest_step) if counter.steps else None,
        fewest=counter.fewest if has_finished else None,
        most=counter.most if has_finished else None,
        inference_stack_bytes=counter.stack_used or None if program.measures_run_stack else None,
        reads=program.reads(executed, slots, runs),
    )


def written_bytes(watched: Sequence, in_steps: int) -> int | None:
    """Returns how many bytes of the watched variables the calls of N_run wrote; None if none are watched, or if a program
    without these calls made inferences in steps."""
    return sum(sum(bytes(part)) for part in watched) if watched and not in_steps else None
