# SPDX-License-Identifier: MIT
"""WHILE with a known number of steps: a recurrent layer if its body is a cell, else the body as often as it runs."""

from __future__ import annotations

from aidge_build.base.errors import AidgeError
from aidge_build.operators.base import require
from aidge_build.operators.view import Identity
from aidge_build.sources.formats.tflite.adding import too_long
from aidge_build.sources.formats.tflite.file import Field, TfliteSubgraph
from aidge_build.sources.formats.tflite.lists import LIST, Rows, candidates
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants, file_order
from aidge_build.sources.formats.tflite.recurrence import recurrent_layer, steps_of
from aidge_build.sources.formats.tflite.registry import reads
from aidge_build.sources.formats.tflite.values import Value

MOST_UNROLLED = 10_000  # operators that one loop may become


@reads("WHILE", wants=Wants.ANY, kind=93, cond_subgraph_index=Field(0, "int32"), body_subgraph_index=Field(1, "int32"))
def while_loop(source: TfliteNode) -> None:
    """The graphs of condition and body have the inputs of the node; the body's outputs are the inputs of the next step."""
    condition, body = (source.adding.graph(source.options[f"{name}_subgraph_index"]) for name in ("cond", "body"))
    require(len(condition.outputs) == 1, f"its condition has {len(condition.outputs)} outputs")
    require(len(body.outputs) == len(body.inputs) == source.input_count == source.output_count, "its body has other values")
    if recurrent_layer(source, condition, body):
        return
    lists, state = candidates(body), list[Value | Rows]()
    for place in range(source.input_count):
        index = source.operator.inputs[place]
        if index in source.adding.rows:
            state.append(source.adding.rows[index])
            continue
        value = source.input(place)
        as_rows = place in lists and value.dims and value.order == file_order(value.rank)
        state.append(Rows.of(value) if as_rows else value)
    steps = steps_of(source, condition, body)
    if steps * len(body.operators) > MOST_UNROLLED:
        raise too_long(
            f"{steps:,} steps of {len(body.operators)} operators would be {steps * len(body.operators):,}; "
            f"the limit is {MOST_UNROLLED:,}"
        )
    step = 0
    while _goes_on(source, condition, state, step):
        state = source.adding.run(body, state, f"{source.name}/step_{step}")
        step += 1
    for place, found in enumerate(state):
        if isinstance(found, Rows) and body.tensors[body.inputs[place]].type == LIST:
            source.adding.rows[source.operator.outputs[place]] = found
            continue
        made = found.whole(source.adding.draft, source.output(place)) if isinstance(found, Rows) else found
        name = source.add_constant(made.name, made.data.transpose(made.order)) if made.is_constant else made.name
        source.write(Identity(), [name], made.order, only=place)


def _goes_on(source: TfliteNode, condition: TfliteSubgraph, state: list[Value | Rows], step: int) -> bool:
    (found,) = source.adding.run(condition, state, f"{source.name}/condition_{step}")
    if isinstance(found, Rows) or found.data is None or found.data.size != 1:
        raise AidgeError(
            "how often it runs depends on data",
            code="OPERATOR",
            hint="export the model without control flow that depends on data",
        )
    return bool(found.data.reshape(())[()])
