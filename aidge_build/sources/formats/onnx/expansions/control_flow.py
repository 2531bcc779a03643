# SPDX-License-Identifier: MIT
"""If, Loop and Scan with control flow that is known while importing: the branch that is taken, the body as often as it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands
from aidge_build.sources.formats.onnx.expansions.scan_at_once import at_once
from aidge_build.sources.onnx_format import SubGraph

MOST_UNROLLED = 10_000  # nodes that one loop may become


@expands("If")
def branch(draft: Draft) -> Sequence[str]:
    """The nodes of the branch that is taken. Source: ONNX operator If."""
    name = "then_branch" if draft.number(draft.input(0), "its condition") else "else_branch"
    return draft.run(draft.graph(name), (), name)


@expands("Loop")
def loop(draft: Draft) -> Sequence[str]:
    """The body once for each step, until the trip count or a condition that is false ends it. Source: ONNX operator Loop."""
    body, carried = draft.graph("body"), list(draft.source.input_names[2:])
    count = len(carried)
    require(
        len(body.inputs) == count + 2, f"the body has {len(body.inputs)} inputs; with {count} carried values it has {count + 2}"
    )
    require(len(body.outputs) > count, f"the body has {len(body.outputs)} outputs, wants at least {count + 1}")
    trips = draft.integer(draft.input(0), "its trip count") if draft.input(0) else None
    goes_on = draft.integer(draft.input(1), "its condition") if draft.input(1) else None
    if trips is not None and goes_on != 0 and _always(body, goes_on is not None):
        _refuse_long(trips, body)
    gathered: list[list[str]] = [[] for _ in body.outputs[count + 1 :]]
    condition = draft.input(1) or draft.constant(True)
    step = 0
    while (trips is None or step < trips) and draft.number(condition, "its condition"):
        _refuse_long(step + 1, body)
        condition, *results = draft.run(body, (draft.constant(step, numpy.int64), condition, *carried), f"step_{step}")
        if goes_on is None:
            condition = draft.constant(True)  # without a first condition, the conditions of the steps are ignored
        carried, found = results[:count], results[count:]
        for names, name in zip(gathered, found, strict=True):
            names.append(name)
        step += 1
    return (*carried, *(_stacked(draft, names, 0) for names in gathered))


@expands("Scan")
def scan(draft: Draft) -> Sequence[str]:
    """The body once for each slice of the scanned inputs. Source: ONNX operator Scan, from opset 9 on."""
    source, body = draft.source, draft.graph("body")
    require(source.opset >= 9, f"Scan of opset {source.opset} is not supported", "convert the model to opset 9 or newer")
    names = list(source.input_names)
    scanned = source.integer("num_scan_inputs")
    states = len(names) - scanned
    require(scanned >= 1 and states >= 0, f"num_scan_inputs is {scanned}, the node has {len(names)} inputs")
    made = len(body.outputs) - states
    require(made >= 0 and len(body.inputs) == len(names), f"the body has {len(body.inputs)} inputs, wants {len(names)}")
    ranks = [draft.tensor(name).rank for name in names[states:]]
    axes = _axes(source.integers("scan_input_axes", (0,) * scanned), ranks)
    backwards = _flags(source.integers("scan_input_directions", (0,) * scanned), scanned)
    reversed_outputs = _flags(source.integers("scan_output_directions", (0,) * made), made)
    output_axes = source.integers("scan_output_axes", (0,) * made)
    require(len(output_axes) == made, f"{len(output_axes)} scan_output_axes, wants {made}")
    lengths = {draft.tensor(name).dims[axis] for name, axis in zip(names[states:], axes)}
    require(len(lengths) == 1, f"the scanned inputs have the lengths {sorted(lengths)}")
    (trips,) = lengths
    carried = names[:states]
    if trips and not any((*axes, *backwards, *reversed_outputs, *output_axes)):
        rows = at_once(draft, body, carried, names[states:])
        if rows is not None:
            return (*carried, *rows)
    _refuse_long(trips, body)
    carried, gathered = _unrolled(draft, body, carried, [*zip(names[states:], axes, backwards)], trips)
    stacked = [
        _stacked(draft, found[::-1] if back else found, axis)
        for found, back, axis in zip(gathered, reversed_outputs, output_axes, strict=True)
    ]
    return (*carried, *stacked)


def _unrolled(
    draft: Draft, body: SubGraph, carried: list[str], scanned: Sequence[tuple[str, int, bool]], trips: int
) -> tuple[list[str], list[list[str]]]:
    """The states after all steps, and the other outputs of each step. `scanned` are tensors with the axis along which they are
    read, and whether that begins at its end."""
    states = len(carried)
    gathered: list[list[str]] = [[] for _ in body.outputs[states:]]
    for step in range(trips):
        slices = [
            draft.one("Gather", name, draft.constant(trips - 1 - step if back else step, numpy.int64), axis=axis)
            for name, axis, back in scanned
        ]
        results = draft.run(body, (*carried, *slices), f"step_{step}")
        carried = list(results[:states])
        for found, name in zip(gathered, results[states:]):
            found.append(name)
    return carried, gathered


def _always(body: SubGraph, conditional: bool) -> bool:
    """Whether the body hands its condition on as it came, so that the trip count alone ends the loop."""
    if not conditional:
        return True
    name = body.outputs[0]
    same = {node.outputs[0]: node.inputs[0] for node in body.nodes if node.op_type == "Identity" and node.inputs and node.outputs}
    for _ in same:
        name = same.get(name, name)
    return name == body.inputs[1]


def _refuse_long(trips: int, body: SubGraph) -> None:
    """Refuses a loop with too many nodes, before the work is done."""
    nodes = trips * body.node_count
    if nodes > MOST_UNROLLED:
        raise AidgeError(
            f"{trips:,} steps of {body.node_count} nodes would be unrolled to {nodes:,}; the limit is {MOST_UNROLLED:,}",
            code="MODEL",
            hint="export the model for fewer steps, and call it more often",
        )


def _stacked(draft: Draft, names: list[str], axis: int) -> str:
    """The tensors of the steps along a new axis."""
    require(bool(names), "it makes no step, and the dims of what it would gather are not known")
    one = draft.constant([axis], numpy.int64)
    return draft.one("Concat", *(draft.one("Unsqueeze", name, one) for name in names), axis=axis)


def _axes(given: tuple[int, ...], ranks: list[int]) -> list[int]:
    require(len(given) == len(ranks), f"{len(given)} scan_input_axes, wants {len(ranks)}")
    for axis, rank in zip(given, ranks):
        require(-rank <= axis < rank, f"scan axis {axis} of a tensor of rank {rank}")
    return [axis + rank if axis < 0 else axis for axis, rank in zip(given, ranks)]


def _flags(given: tuple[int, ...], count: int) -> list[bool]:
    require(len(given) == count and set(given) <= {0, 1}, f"directions {list(given)}, wants {count} of 0 or 1")
    return [bool(one) for one in given]
