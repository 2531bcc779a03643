# SPDX-License-Identifier: MIT
"""Measures what kernels/<library>/lengths.toml says of the instructions that a call of each kernel takes at most.

    python -m tools.step_lengths measure FILE.jsonl BOARD MAX_STEP MODEL...
    python -m tools.step_lengths fit FILE.jsonl...

`measure` builds each model in steps, counts them exactly on the emulated board, bounds them for any input, and appends a line for
each layer: what it measures, and the longest of its steps. Layers that cannot be cut as finely are measured as they are. `fit`
finds for each kernel and kind of core the smallest numbers above all that was measured (a linear program), and writes the tables;
entries for what was not measured stay. Models,
boards and steps of many kinds make better tables; which of them are kept aside to judge by is for whoever calls.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy

from aidge_build import planning, stepping
from aidge_build.boards import load_board
from aidge_build.cascade.row_layer import RowLayer
from aidge_build.cli.longest import step_bounds
from aidge_build.compile import build_program
from aidge_build.contract.length import LENGTHS, NUMBERS, Length, lengths_of, measures, without
from aidge_build.contract.spec import NodeView
from aidge_build.elf import read_claims, read_image
from aidge_build.errors import AidgeError
from aidge_build.inputs import add_model_arguments, load
from aidge_build.installed import kernel_folder
from aidge_build.program import Layer, Program
from aidge_build.verify.firmware import execute
from aidge_build.verify.vectors import random_vectors

GROUP = 4
GROUPED = {"cortexm": ("conv2d_lines_int8", "conv2d_planes_int8", "pointwise_int8")}  # kernels that compute 4 channels at once
MANY_SHAPES, SOME_SHAPES, POOLED_BELOW = 8, 3, 12
MARGINS = (1.06, 1.35, 2.0)  # where many shapes were measured, some, and hardly any; what is linked is proved
LEAST, MOST_FIXED, OF_N_STEP = 150, 1500, 60
LARGE = 2000  # instructions from which on a length is mostly not `fixed`
UNKNOWN = {"cortexm": (1000, 4, 60, 12), "helium": (1000, 3, 40, 8), "armv7m": (1000, 5, 60, 12), "armv6m": (1000, 8, 100, 20)}
Row = dict


def leave_whole_what_cannot_be_cut() -> None:
    """From now on such layers are long steps instead of errors."""
    cut_layers, length = stepping.in_pieces, stepping._length

    def patient(assignment, demands, reuse, outside, best, kernels, limit):
        def bounded(assignment, limit, node):
            found = length(assignment, limit, node)
            return found if found <= limit.max_step or stepping._cut(assignment, kernels, limit, node) else 0

        stepping._length = bounded
        try:
            return cut_layers(assignment, demands, reuse, outside, best, kernels, limit)
        finally:
            stepping._length = length

    planning.in_pieces = patient  # where `plan_memory` finds it


def of_layer(program: Program, layer: Layer) -> list[float]:
    """The measures of the layer's largest step."""
    seen = NodeView.of(program.view, layer.node)
    cascade = next((one for one in program.cascades if layer.node.name in one.nodes), None)
    rows = None if cascade is None else RowLayer.of(seen)
    if cascade is None or rows is None:
        return list(measures(seen))
    bands = cascade.bands_of(layer.node.name)
    sizes = [last - first for first, last in bands]
    found = [measures(rows.view(*band, (max(sizes), min(sizes)))) for band in bands]
    return [max(column) for column in zip(*found)]


def measured(model: str, board: str, max_step: int) -> list[Row]:
    """A row for each layer of the model that was counted."""
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    program = build_program(load(parser.parse_args([model, "--board", board, "--max-step", str(max_step)]), "model"))
    with tempfile.TemporaryDirectory() as folder:
        execution = execute(program, load_board(board), random_vectors(program.view, 1, seed=0), Path(folder))
        image = read_image(execution.elf)
        bounds = step_bounds(execution.elf, image, read_claims(image))
    result, longest = execution.result, defaultdict[str, int](int)
    for step in (step for bound in bounds for step in bound.steps):
        longest[step.layer] = max(longest[step.layer], step.instructions)
    rows = []
    for layer, count in zip(program.layers, result.layers, strict=True):
        tensors = [*(tensor for tensor in layer.inputs if tensor is not None), *layer.outputs]
        row = {"library": layer.kernel.library, "kernel": layer.kernel.name, "op": layer.node.type}
        row |= {"type": layer.outputs[0].dtype.name, "dims": [list(tensor.dims) for tensor in tensors]}
        row |= {"without": without(load_board(board).features), "measures": of_layer(program, layer)}
        rows += [{**row, "instructions": max(count.longest_step, longest[layer.symbol])}] if count.longest_step else []
    return rows


def fitted(rows: list[Row]) -> numpy.ndarray:
    """The numbers of NUMBERS that lie above all rows, and above few of them by much."""
    from scipy.optimize import linprog

    shapes = len({json.dumps(row["dims"]) for row in rows})
    margin = MARGINS[0 if shapes >= MANY_SHAPES else 1 if shapes >= SOME_SHAPES else 2]
    factors = numpy.array([[1, *row["measures"]] for row in rows], float)
    counts = numpy.array([max(1, row["instructions"] - OF_N_STEP) for row in rows], float)
    lows, large = [float(LEAST), *[0.0] * len(NUMBERS[1:])], counts > LARGE
    for columns, share in (((1,), 0.6), ((2, 3), 0.3)):  # what grows with the layer has a price of its own
        known = [column for column in columns if large.any() and (factors[large, column] > 0).all()]
        for column in known:
            lows[column] = share * (counts[large] / factors[large, column]).min()
        if known:
            break
    for most in (MOST_FIXED, None):
        bounds = [(lows[0], most), *((low, None) for low in lows[1:])]
        found = linprog((factors / counts[:, None]).sum(0), A_ub=-factors, b_ub=-margin * counts, bounds=bounds, method="highs")
        if found.success:
            break
    return found.x


def _fewer_than(row: Row) -> int:
    """4 for layers of fewer channels of a library that computes 4 at once, else 0."""
    _, written, _, places, *_ = row["measures"]
    return GROUP if row["kernel"] in GROUPED.get(row["library"], ()) and written < GROUP * places else 0


def tables(rows: list[Row]) -> dict[str, str]:
    """The text of lengths.toml of each library."""
    groups: dict[tuple[str, str, str, str, int, tuple[str, ...]], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["library"], row["kernel"], row["op"], row["type"], _fewer_than(row), tuple(row["without"])].append(row)
    found: dict[str, dict[tuple, Length]] = {}
    for (library, kernel, op, type_name, fewer_than, lacking), own in sorted(groups.items()):
        if len({json.dumps(row["dims"]) for row in own}) < POOLED_BELOW:
            own = [
                row
                for key, some in groups.items()
                if (key[0], key[1], *key[3:]) == (library, kernel, type_name, fewer_than, lacking)
                for row in some
            ]
        numbers = {
            name: math.ceil(number) if name == "fixed" else math.ceil(100 * number) / 100
            for name, number in zip(NUMBERS, fitted(own))
        }
        entry = Length(kernel, op, type_name, fewer_than, lacking, **numbers)
        found.setdefault(library, {})[kernel, op, type_name, fewer_than, lacking] = entry
    return {library: _text(library, {**known(library), **entries}) for library, entries in found.items()}


def known(library: str) -> dict[tuple, Length]:
    """What a library says now of kernels, by what each entry is for: it stays where nothing was measured anew."""
    path = kernel_folder() / library / LENGTHS
    entries = lengths_of({LENGTHS: path.read_bytes()} if path.is_file() else {}, library)
    return {(one.kernel, one.op, one.type, one.fewer_than, one.without): one for one in entries if one.kernel}


def _text(library: str, entries: dict[tuple, Length]) -> str:
    text = _head(library)
    for _, entry in sorted(entries.items()):
        text += ["", "[[length]]", f'kernel = "{entry.kernel}"', f'op = "{entry.op}"', f'type = "{entry.type}"']
        text += [f"fewer_than = {entry.fewer_than}"] * (entry.fewer_than > 0)
        text += [f"without = {json.dumps(entry.without)}"] * bool(entry.without)
        text += [f"{name} = {getattr(entry, name)}" for name in NUMBERS if getattr(entry, name)]
    return "\n".join(text) + "\n"


def _head(library: str) -> list[str]:
    numbers = zip(NUMBERS, UNKNOWN.get(library, (1000, 12, 250, 20)))
    return [
        "# SPDX-License-Identifier: MIT",
        "# Instructions that a call takes at most, fitted from above to measured layers and pieces: tools/step_lengths.py.",
        "# The first entry is for kernels that nobody measured.",
        "",
        "[[length]]",
        *(f"{name} = {number}" for name, number in numbers),
    ]


def main(words: list[str]) -> int:
    """Measures or fits; the exit code."""
    verb, *names = words
    if verb == "fit":
        rows = [json.loads(line) for name in names for line in Path(name).read_text().splitlines()]
        for library, text in tables(rows).items():
            (kernel_folder() / library / LENGTHS).write_text(text)
        return 0
    target, board, max_step, *models = names
    leave_whole_what_cannot_be_cut()
    with Path(target).open("a") as file:
        for model in models:
            try:
                file.writelines(json.dumps(row) + "\n" for row in measured(model, board, int(max_step)))
            except AidgeError as error:
                print(error, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
