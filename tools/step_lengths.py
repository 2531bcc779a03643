# SPDX-License-Identifier: MIT
"""Measures what kernels/<library>/lengths.toml says of the instructions that a call of each kernel takes at most.

    python -m tools.step_lengths measure FILE.jsonl BOARD MAX_STEP MODEL... [--optimize size] [--assembly off] [--unaligned off]
    python -m tools.step_lengths fit FILE.jsonl...
    python -m tools.step_lengths raise FILE.jsonl...

`measure` builds each model in steps, counts them exactly on the emulated board, bounds them for any input, and appends a line for
each layer: what it measures, and the longest of its steps. Layers that cannot be cut as finely are measured as they are. `fit`
finds for each kernel, kind of core and set of options the smallest numbers above all that was measured (a linear program), and
writes the tables; entries for what was not measured stay. `raise` does so only where something took longer than the tables say:
it multiplies the numbers that count there now, and adds to them, so that what was measured for them before still holds. Models,
boards and steps of many kinds make better tables; which of them are kept aside to judge by is for whoever calls.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import kernel_folder
from aidge_build.boards import load_board
from aidge_build.boards.cores import FPU
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.cli.longest import step_bounds
from aidge_build.contract.length import LENGTHS, NUMBERS, Length, exactness, lengths_of, measures, under, without
from aidge_build.contract.spec import NodeView
from aidge_build.plan import stepping
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.program import Layer, Program
from aidge_build.plan.stepping import SOFTWARE_FLOATS, STEP_INSTRUCTIONS
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.claim import claim_from
from aidge_build.prove.elf.planned_claims import with_planned
from aidge_build.prove.longest import steps as longest_steps
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import random_vectors

GROUP = 4
BOARDS = Path("tests") / "kernels" / "boards"  # that only tests and measurements need
ALIKE = {"rv32"}  # libraries with the same code on cores with and without the features of `without`
GROUPED = {"cortexm": ("conv2d_lines_int8", "conv2d_planes_int8", "pointwise_int8")}  # kernels that compute 4 channels at once
MANY_SHAPES, SOME_SHAPES, POOLED_BELOW = 8, 3, 12
MARGINS = (1.06, 1.35, 2.0)  # where many shapes were measured, some, and hardly any; what is linked is proved
LEAST, MOST_FIXED, OF_N_STEP = 150, 1500, 60
MOST_TIMES = 60  # as many times as long as planned may a step be
CLOSE = 0.8  # of the smallest ratio to what counted before, which new numbers keep
LARGE = 2000  # instructions from which on a length is mostly not `fixed`
UNKNOWN = {"cortexm": (1000, 4, 60, 12), "helium": (1000, 3, 40, 8), "armv7m": (1000, 5, 60, 12), "armv6m": (1000, 8, 100, 20)}
UNKNOWN["rv32"] = UNKNOWN["armv6m"]
UNKNOWN_OTHERWISE = (1000, 12, 250, 20)
Row = dict


def leave_whole_what_cannot_be_cut() -> None:
    """From now on such layers are long steps instead of errors, and steps that are much longer than planned have a bound."""
    longest_steps._MOST_TIMES = MOST_TIMES
    is_too_long = stepping._Layers.is_too_long
    stepping._Layers.is_too_long = lambda layers, node: is_too_long(layers, node) and layers.cut(node) is not None


def of_layer(program: Program, layer: Layer) -> list[float]:
    """The measures of the layer's largest step."""
    seen = NodeView.of(program.view, layer.node)
    cascade = next((one for one in program.schedule.cascades if layer.node.name in one.nodes), None)
    rows = None if cascade is None else RowLayer.of(seen)
    if cascade is None or rows is None:
        return list(measures(seen))
    bands = cascade.bands_of(layer.node.name)
    sizes = [last - first for first, last in bands]
    found = [measures(rows.view(*band, (max(sizes), min(sizes)))) for band in bands]
    return [max(column) for column in zip(*found)]


def measured(model: str, board: str, max_step: int, options: Sequence[str] = ()) -> list[Row]:
    """A row for each layer of the model that was counted, in a build with these options."""
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    where = ["--board", board, f"--board-path={BOARDS}"]
    request = load(parser.parse_args([model, *where, "--max-step", str(max_step), *options]), "model")
    program, target = build_program(request), request.target
    with tempfile.TemporaryDirectory() as folder:
        execution = execute(program, load_board(board, [BOARDS]), random_vectors(program.view, 1, seed=0), Path(folder))
        image = read_image(execution.elf)
        plan = json.loads((Path(folder) / "model.plan.json").read_text())
        claims = with_planned(image, read_claims(image), {"the plan": claim_from(plan["claim"])})  # C alone has no note
        bounds = step_bounds(execution.elf, image, claims)
    result, longest = execution.result, defaultdict[str, int](int)
    for step in (step for bound in bounds for step in bound.steps):
        longest[step.layer] = max(longest[step.layer], step.instructions)
    rows = []
    for layer, count in zip(program.layers, result.layers, strict=True):
        tensors = [*(tensor for tensor in layer.inputs if tensor is not None), *layer.outputs]
        row = {"library": layer.kernel.library, "kernel": layer.kernel.name, "op": layer.node.type}
        row |= {"type": layer.outputs[0].dtype.name, "dims": [list(tensor.dims) for tensor in tensors]}
        built = replace(NodeView.of(program.view, layer.node), objective=target.objective, features=target.features)
        missing = () if layer.kernel.library in ALIKE else without(built.features)
        row |= {"without": missing, "under": under(built), "measures": of_layer(program, layer)}
        is_soft = layer.outputs[0].dtype.is_float and FPU not in target.features and not layer.node.operator.hands_on
        row |= {"times": SOFTWARE_FLOATS if is_soft else 1}  # where the tables know the kernel on other cores alone
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


def raised(rows: list[Row], before: Length, *, is_same: bool) -> numpy.ndarray:
    """The numbers of `before`, times as much and with additions, that are above all rows; `is_same`: they only grow."""
    shapes = len({json.dumps(row["dims"]) for row in rows})
    margin = MARGINS[0 if shapes >= MANY_SHAPES or is_same else 1]  # `before` knows many shapes
    from scipy.optimize import linprog

    factors = numpy.array([[1, *row["measures"]] for row in rows], float)
    counts = numpy.array([max(1, row["instructions"] - OF_N_STEP) for row in rows], float)
    known = numpy.array([max(1.0, before.sum_of(row["measures"], _channels(row))) for row in rows])
    numbers = numpy.array([getattr(before, name) for name in NUMBERS])
    columns = numpy.column_stack([known, factors])
    least = CLOSE * (counts / known).min()
    bounds = [(max(1.0, least) if is_same else least, None), (0, MOST_FIXED), *((0, None) for _ in NUMBERS[1:])]
    cost = (columns / counts[:, None]).sum(0)
    found = linprog(cost, A_ub=-columns, b_ub=-margin * counts, bounds=bounds, method="highs")
    return found.x[0] * numbers + found.x[1:]


def _grouped(rows: list[Row]) -> dict[tuple, list[Row]]:
    """The rows by library, kernel, operator, type, limit of channels, missing features and options."""
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        words = tuple(row["without"]), tuple(row.get("under", ()))
        groups[row["library"], row["kernel"], row["op"], row["type"], _fewer_than(row), *words].append(row)
    return groups


def _of_other_operators(groups: Mapping[tuple, list[Row]], key: tuple) -> list[Row]:
    """The rows of a group and of those that differ from it in the operator alone."""
    return [row for other, rows in groups.items() if (*other[:2], *other[3:]) == (*key[:2], *key[3:]) for row in rows]


def _most_exact(lengths: Iterable[Length], key: tuple) -> Length | None:
    return max((one for one in lengths if _holds(one, key)), key=exactness, default=None)


def _is_long_enough(length: Length, rows: list[Row]) -> bool:
    return all(row["instructions"] <= STEP_INSTRUCTIONS + _of(length, row) for row in rows)


def _rounded_up(name: str, number: float) -> float:
    return math.ceil(number) if name == "fixed" else math.ceil(100 * number) / 100


def tables(rows: list[Row], *, only_longer: bool = False) -> dict[str, str]:
    """The text of lengths.toml of each library; `only_longer`: with new numbers only where the known ones are too small."""
    groups = _grouped(rows)
    found = {library: known(library) for library in sorted({key[0] for key in groups})}
    for (library, *said), own in sorted(groups.items(), key=lambda group: (len(group[0][-1]), group[0])):
        entries, key = found[library], tuple(said)
        before = _most_exact(entries.values(), key)
        counts = before or Length(**dict(zip(NUMBERS, UNKNOWN.get(library, UNKNOWN_OTHERWISE))))
        if only_longer and _is_long_enough(counts, own):
            continue
        if len({json.dumps(row["dims"]) for row in own}) < POOLED_BELOW:
            own = _of_other_operators(groups, (library, *key))
        raises = only_longer and before is not None
        numbers = raised(own, before, is_same=key in entries) if raises else fitted(own)
        rounded = {name: _rounded_up(name, number) for name, number in zip(NUMBERS, numbers)}
        together = entries[key].together if key in entries else before.together if raises else 0
        entries[key] = Length(*key, **rounded, together=together)
    return {library: _text(library, entries) for library, entries in found.items()}


def _holds(entry: Length, key: tuple) -> bool:
    """Whether an entry counts for the calls that a key is about, if none says more exactly what it is for."""
    kernel, op, type_name, fewer_than, lacking, options = key
    is_such = entry.kernel == kernel and entry.op in ("", op) and entry.type in ("", type_name)
    is_such = is_such and entry.fewer_than in (0, fewer_than) and entry.without in ((), lacking)
    return is_such and {*entry.under} <= {*options}


def _of(entry: Length, row: Row) -> float:
    """The instructions of a layer by an entry."""
    times = 1 if entry.without else row.get("times", 1)
    return times * entry.sum_of(row["measures"], _channels(row))


def _channels(row: Row) -> int:
    dims = row["dims"][-1]
    return dims[1] if len(dims) > 1 else 1


def known(library: str) -> dict[tuple, Length]:
    """What a library says now of kernels, by what each entry is for: it stays where nothing was measured anew."""
    path = kernel_folder() / library / LENGTHS
    entries = lengths_of({LENGTHS: path.read_bytes()} if path.is_file() else {}, library)
    return {(one.kernel, one.op, one.type, one.fewer_than, one.without, one.under): one for one in entries if one.kernel}


def _text(library: str, entries: dict[tuple, Length]) -> str:
    text = _head(library)
    for _, entry in sorted(entries.items()):
        text += ["", "[[length]]", f'kernel = "{entry.kernel}"', f'op = "{entry.op}"', f'type = "{entry.type}"']
        text += [f"fewer_than = {entry.fewer_than}"] * (entry.fewer_than > 0)
        text += [f"without = {json.dumps(entry.without)}"] * bool(entry.without)
        text += [f"under = {json.dumps(entry.under)}"] * bool(entry.under)
        text += [f"together = {entry.together}"] * bool(entry.together)
        text += [f"{name} = {getattr(entry, name)}" for name in NUMBERS if getattr(entry, name)]
    return "\n".join(text) + "\n"


def _head(library: str) -> list[str]:
    numbers = zip(NUMBERS, UNKNOWN.get(library, UNKNOWN_OTHERWISE))
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
    if verb in ("fit", "raise"):
        rows = [json.loads(line) for name in names for line in Path(name).read_text().splitlines()]
        for library, text in tables(rows, only_longer=verb == "raise").items():
            (kernel_folder() / library / LENGTHS).write_text(text)
        return 0
    first = next((place for place, name in enumerate(names) if name.startswith("--")), len(names))
    (target, board, max_step, *models), options = names[:first], names[first:]
    leave_whole_what_cannot_be_cut()
    with Path(target).open("a") as file:
        for model in models:
            try:
                file.writelines(json.dumps(row) + "\n" for row in measured(model, board, int(max_step), options))
            except AidgeError as error:
                print(error, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
