# SPDX-License-Identifier: MIT
"""The instructions of an inference that goes by rows: the sum over N_push_<input>, N_pull_<output> and N_end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aidge_build.prove.elf import Claim, Image
from aidge_build.prove.timing.estimate import Cycles, sum_cycles
from aidge_build.run.emulate import End, LayerCount, RunResult, Stops


def pieces_of(claim: Claim, image: Image) -> tuple[str, ...]:
    """Returns the functions that such an inference consists of, N_end last; () for a model with whole inputs and outputs."""
    by_rows = [name for name in claim.functions if name.startswith((f"{claim.model}_push_", f"{claim.model}_pull_"))]
    pieces = (*by_rows, f"{claim.model}_end") if by_rows else ()
    return pieces if pieces and image.symbol(pieces[-1]) else ()


def counted_by_rows(stops: Stops, run_symbol: str, pieces: tuple[str, ...], run: Callable[[str, Stops], RunResult]) -> RunResult:
    """Returns the result of a run. If the program never calls N_run, it runs once more for each of the `pieces`; their counts are
    added, and each call of N_end ends an inference. If a stop ends the run, all pieces are counted up to one instruction."""
    if pieces and stops:
        first = run(run_symbol, replace(stops, inferences=1, until=pieces[-1]))  # whichever of both it calls
        if first.ended is End.UNTIL:
            return _pieces(run(pieces[-1], stops), stops, pieces, run)
    whole = run(run_symbol, stops)
    if not pieces or whole.instructions is None or whole.runs or whole.ended is not End.EXIT:
        return whole
    last = run(pieces[-1], stops)
    return _pieces(last, stops, pieces, run) if last.runs else whole


def _pieces(last: RunResult, stops: Stops, pieces: tuple[str, ...], run: Callable[[str, Stops], RunResult]) -> RunResult:
    if last.ended is End.INTERRUPT:  # who waits for an answer does not wait for more runs
        return replace(last, runs=None, run_instructions=None, run_cycles=None, written_bytes=None)
    place = stops if last.ended is End.EXIT else Stops(instructions=last.instructions or 0)
    parts = [*(run(symbol, place) for symbol in pieces[:-1]), last]
    layers = [_together(counts) for counts in zip(*(part.layers for part in parts), strict=True)]
    return replace(
        last,
        runs=parts[-1].runs,
        run_instructions=sum(part.run_instructions or 0 for part in parts),
        run_cycles=_cycles([part.run_cycles for part in parts if part.runs]),
        layers=tuple(layers),
        written_bytes=None,  # each piece writes some of them
        pieces=pieces,
        fewest=None,
        most=None,
    )


def _together(counts: tuple[LayerCount, ...]) -> LayerCount:
    return replace(
        counts[0],
        instructions=_sum([each.instructions for each in counts]),
        cycles=_cycles([each.cycles for each in counts]),
    )


def _cycles(counts: list[Cycles | None]) -> Cycles | None:
    known = [count for count in counts if count is not None]
    return sum_cycles(known) if known else None


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
