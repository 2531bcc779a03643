# SPDX-License-Identifier: MIT
"""The page of structural coverage, and what is wrong with it."""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from aidge_build.boards import load_board
from tools.docs.markdown import cell, code
from tools.safety.explained import Explained, Reason, explain, faults, reasons
from tools.safety.measured import SEEDS, Coverage, measure, program_of, vectors_of
from tools.safety.networks import NETWORKS, Network
from tools.safety.on_core import OnCore, measure_on

PAGE = "docs/safety-coverage.md"
BOARD = "mps2-an386"
_MOST_EMULATED = 400  # vectors
_SHOWN = 3  # functions
_HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `python -m tools.safety`: do not edit. -->
# Structural coverage of generated C

`python -m tools.safety coverage` measures the models of the zoo and two more, and writes this page. For each model it

1. generates the C for this machine (portable kernels), and compiles `N.c` with `gcc --coverage -O0`;
2. runs two sets of vectors: samples of the zoo, and seeded ones over the whole range of each input;
3. calls each function of the interface as it must not be called: null and misaligned pointers, buffers that overlap, calls out of
   order, damaged weights and memory. A call that is not refused ends the measurement.

It fails if a way of a branch is neither taken nor explained. `tests/docs/test_safety.py` repeats all of this in CI.

- A *way* is one of the two directions of one condition: `a && b` has four ways. Loops count, too.
- *This model*: its own vectors and calls take the way. *Others*: another model does, in the same line of the same kernel.
- *Explained*: no model takes the way, and a row of [the reasons](#reasons) says why. Most are deactivated code: a kernel serves
  many layers, and constants choose its branches.
- Assembly has no line of C: [a second table](#instructions-on-a-core) counts instructions of the linked program on an emulated
  core.
"""
_ON_CORE = f"""
## Instructions on a core

The same models for the board `{BOARD}` (Cortex-M4 with FPU, kernels in assembly), compiled as a product is. The emulator runs the
vectors and the refused calls. An instruction under a condition counts as executed if its block ran; the ways are the two ways of
each conditional jump. The table states no reasons, and CI does not repeat it.

| model | instructions | executed | ways of jumps | taken | functions with the most instructions that never ran |
|---|--:|--:|--:|--:|---|"""
_KINDS = """
*constants*: constants of the model decide the branch, which goes the same way for every input. Checked: two sets of vectors
take the ways of such a line equally often. *data*: data decide it, or how often it is reached; the named tests of the kernel
take it. *reviewed*: the code around the branch shows it, and no count can. *machine*: the machine, or the alignment of
buffers, decides it."""


def measured(folder: Path) -> list[Coverage]:
    """Measures all models on this machine, below `folder`."""
    return [measure(network, folder / network.name) for network in NETWORKS]


def measured_on_core(network: Network, folder: Path) -> OnCore:
    """Measures a model on the emulated core."""
    program = program_of(network, BOARD, folder)
    vectors = vectors_of(program.view, replace(network, vectors=min(network.vectors, _MOST_EMULATED)), SEEDS[0])
    return measure_on(program, load_board(BOARD), vectors, folder)


def coverage_page(explained: Sequence[Explained], known: Sequence[Reason], on_core: Sequence[tuple[Network, OnCore]]) -> str:
    """Returns the page."""
    return _HEAD + "\n".join([*_models(explained), *_reasons(explained, known), _ON_CORE, *map(_row_on_core, on_core)]) + "\n"


def _row_on_core(measured: tuple[Network, OnCore]) -> str:
    network, found = measured
    executed = found.instructions - found.idle.total()
    idle = ", ".join(
        f"`{name}` {count}" for name, count in sorted(found.idle.items(), key=lambda one: (-one[1], one[0]))[:_SHOWN]
    )
    return (
        f"| {network.name} | {found.instructions:,} | {executed:,} ({executed / found.instructions:.0%}) | {found.ways:,} | "
        f"{found.taken:,} ({found.taken / found.ways:.0%}) | {idle} |"
    )


def _models(explained: Sequence[Explained]) -> Iterator[str]:
    yield from ("", "## Models", "", f"{_version()}. Lines: executed of all lines with code.", "")
    yield "| model | has | lines | ways of branches | this model | others | explained | neither |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for one in explained:
        ways, network = one.coverage.directions, one.coverage.network
        taken = sum(way.count > 0 for way in ways)
        model = f"{network.name} {code(' '.join(network.options))}".strip()
        executed = f"{one.coverage.executed:,} of {one.coverage.lines:,}"
        numbers = (
            f"{len(ways):,}",
            f"{taken:,} ({taken / len(ways):.0%})",
            one.elsewhere,
            sum(one.reasons.values()),
            len(one.unexplained),
        )
        yield f"| {model} | {cell(network.has)} | {executed} | {' | '.join(map(str, numbers))} |"


def _reasons(explained: Sequence[Explained], known: Sequence[Reason]) -> Iterator[str]:
    total: Counter[str] = sum((one.reasons for one in explained), Counter())
    yield from (
        "",
        "## Reasons",
        "",
        "| reason | kind | ways | why no model takes them | tests that do |",
        "|---|---|--:|---|---|",
    )
    for row in known:
        test = f"[`{Path(row.test).stem}`](../{row.test})" if row.test else ""
        yield f"| {row.name} | {row.kind} | {total[row.name]:,} | {cell(row.why)} | {test} |"
    yield _KINDS


def _version() -> str:
    return subprocess.run(["gcov", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]


def update(root: Path, only_check: bool) -> list[str]:
    """Measures, writes the page unless `only_check`, and returns the faults."""
    known = reasons()
    with tempfile.TemporaryDirectory() as folder:
        found = explain(measured(Path(folder)), known)
        if not only_check:
            on_core = [(network, measured_on_core(network, Path(folder) / "core" / network.name)) for network in NETWORKS]
            (root / PAGE).write_text(coverage_page(found, known, on_core), encoding="utf-8")
    return faults(found, known)
