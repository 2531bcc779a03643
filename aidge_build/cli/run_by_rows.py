# SPDX-License-Identifier: MIT
"""The instructions of an inference that goes by rows: those inside of N_push_<input>, N_pull_<output> and N_end together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aidge_build.elf.claim import Claim
from aidge_build.emulate.program import LayerCount, RunResult


def pieces_of(claim: Claim) -> tuple[str, ...]:
    """The functions that such an inference consists of, N_end last; () for a model whose input and output are whole."""
    by_rows = [name for name in claim.functions if name.startswith((f"{claim.model}_push_", f"{claim.model}_pull_"))]
    return (*by_rows, f"{claim.model}_end") if by_rows else ()


def counted_by_rows(result: RunResult, pieces: tuple[str, ...], run: Callable[[str], RunResult]) -> RunResult:
    """What a program did that never calls N_run: the program runs once more for each of the `pieces`, whose counts are added, and
    an inference is what ends with a call of N_end."""
    if not pieces or result.instructions is None or result.runs:
        return result
    parts = [run(symbol) for symbol in pieces]
    if not parts[-1].runs:
        return result
    layers = [_together(counts) for counts in zip(*(part.layers for part in parts), strict=True)]
    return replace(
        result,
        runs=parts[-1].runs,
        run_instructions=sum(part.run_instructions or 0 for part in parts),
        run_cycles=_sum([part.run_cycles for part in parts if part.runs]),
        layers=tuple(layers),
        written_bytes=None,  # each piece writes some of them
        pieces=pieces,
    )


def _together(counts: tuple[LayerCount, ...]) -> LayerCount:
    return replace(
        counts[0],
        instructions=_sum([each.instructions for each in counts]),
        cycles=_sum([each.cycles for each in counts]),
        flash_lines=_sum([each.flash_lines for each in counts]),
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
