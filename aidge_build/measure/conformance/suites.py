# SPDX-License-Identifier: MIT
"""The collections of cases, and how they run on machines: boards, and the host under sanitizers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.measure.conformance.cases import listed_names, prepare
from aidge_build.measure.conformance.run import SANITIZERS, Verdict, verdicts
from aidge_build.sources.onnx_format.node_cases import NodeCase, node_cases, stored_cases

SANITIZED = "sanitized"  # the host with address and undefined-behaviour sanitizers

_MCU = """The node cases of operators that microcontroller models contain, with static shapes and element types that C has
(`mcu-793.txt` lists them). Not bound, because generated code reads them at run time: the shape of ConstantOfShape, start, limit
and delta of Range, the roi of Resize, ratio and training mode of Dropout, inputs without elements.

**779 is the largest number of passes that these rules allow**: the 14 others are Constant, Shape (11) and Size (2): their
outputs depend only on the model, so every compiler folds them. Among the 779, eight have outputs without elements
(the program runs and writes nothing), and ten reduce inputs without elements."""

_STORED = """The models that the package onnx stores with inputs and expected outputs, exported from PyTorch with opset 6."""


@dataclass(frozen=True)
class Collection:
    """Named cases with a title and an introduction for the page."""

    title: str
    text: str
    load: Callable[[], Mapping[str, NodeCase]]
    names: Callable[[], Sequence[str]]


COLLECTIONS = {
    "mcu-793": Collection("MCU-793", _MCU, node_cases, listed_names),
    "pytorch-converted": Collection(
        "Models converted from PyTorch",
        _STORED,
        lambda: stored_cases("pytorch-converted"),
        lambda: tuple(stored_cases("pytorch-converted")),
    ),
}


def run_cases(
    machine: str, lib: str | None, names: Sequence[str], jobs: int, work: str | None, collection: str = "mcu-793"
) -> list[Verdict]:
    """The verdicts of these cases on a board or on `SANITIZED`; the work is cut into `jobs` parts."""
    board = load_board("host" if machine == SANITIZED else machine, [])
    flags = SANITIZERS if machine == SANITIZED else ()
    libraries, _ = load_libraries(lib.split(",") if lib else list(board.libs), find_libraries([]))
    cases = COLLECTIONS[collection].load()
    prepared = [prepare(cases[name], f"case_{number}", libraries, board.features) for number, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(max(1, jobs)) as pool:
        folder = Path(work or temporary) / collection / machine
        size = max(1, -(-len(prepared) // max(1, jobs)))
        parts = [prepared[first : first + size] for first in range(0, len(prepared), size)]
        done = pool.map(lambda part: verdicts(part[1], board, folder / f"part_{part[0]}", flags), enumerate(parts))
        return [verdict for part in done for verdict in part]
