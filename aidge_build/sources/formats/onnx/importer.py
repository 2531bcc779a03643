# SPDX-License-Identifier: MIT
"""ONNX to GraphView: names checked, nodes sorted, shapes known, constant parts evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.operators.base import Operator
from aidge_build.sources.dims import Bound
from aidge_build.sources.formats.onnx.construction import Construction, Imported
from aidge_build.sources.formats.onnx.frame import Frame
from aidge_build.sources.formats.onnx.length_check import VALID, require_same_outputs
from aidge_build.sources.formats.onnx.vocabulary import Vocabulary
from aidge_build.sources.onnx_format import (
    OnnxModel,
    halves_of,
    in_single_precision,
    read_model,
)
from aidge_build.sources.state import with_states
from aidge_build.sources.wanted_states import WantedStates, wanted_states

LARGER = 64  # of an open first axis, tried where 1 is refused


def import_onnx(
    data: bytes,
    name: str,
    operators: Mapping[str, type[Operator]],
    bind: Mapping[str, Bound],
    external: Mapping[str, bytes],
    state: Mapping[str, str] | None = None,
    *,
    keeps_halves: bool = True,
) -> tuple[GraphView, tuple[str, ...]]:
    """Returns the graph of a model file, and notices: decisions that the user should read, one line each.

    `name` names the file in messages, and the graph; `operators` maps ONNX names to classes; `bind` gives numbers to symbolic
    dims, and values to inputs that never change; `external` holds the external data (`onnx_format.read_external`); `state`
    names outputs that are the next inference's inputs (`wanted_states`), in addition to the outputs that the file names: an input
    that has an initialiser, too, begins with its value. Kernels have no float16: without `keeps_halves` it is float32
    (`in_single_precision`).
    """
    read = read_model(data, name, external)
    try:
        model, widened = (read, ()) if keeps_halves else _in_single_precision(read)
        states = _wanted(model, state)
        kept = {source: model.initializers[source] for source in states.pairs.values() if source in model.initializers}
        model = replace(model, initializers={key: data for key, data in model.initializers.items() if key not in kept})
        imported = _imported(model, name, operators, bind, states)
        view = with_states(imported.view, imported.states, kept)
        longer = _longer_bind(imported, states, bind)
        if longer:
            other = _imported(model, name, operators, longer, states)
            require_same_outputs(view, with_states(other.view, other.states, {}))
        return view, (*widened, *imported.notices)
    except AidgeError as error:
        raise error.within(name)


def import_with_sources(
    data: bytes,
    name: str,
    operators: Mapping[str, type[Operator]],
    bind: Mapping[str, Bound],
    external: Mapping[str, bytes],
    state: Mapping[str, str] | None = None,
) -> Imported:
    """Returns the graph of `import_onnx` without halves, with the nodes of the file."""
    model, widened = _in_single_precision(read_model(data, name, external))
    try:
        imported = _imported(model, name, operators, bind, _wanted(model, state))
        view = with_states(imported.view, imported.states, {})
        return replace(imported, view=view, notices=(*widened, *imported.notices))
    except AidgeError as error:
        raise error.within(name)


def _in_single_precision(model: OnnxModel) -> tuple[OnnxModel, tuple[str, ...]]:
    """The model without float16, and a line where the caller sees that."""
    names = halves_of(model)
    shown = ", ".join(f"'{name}'" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    notice = f"float16 is computed in float32, the inputs and outputs {shown} are float32"
    return in_single_precision(model), (notice,) if names else ()


def _wanted(model: OnnxModel, state: Mapping[str, str] | None) -> WantedStates:
    """The states that the file and the user name."""
    inputs, outputs = ([value.name for value in side] for side in (model.inputs, model.outputs))
    return wanted_states({**model.states, **(state or {})}, inputs, outputs)


def _longer_bind(imported: Imported, states: WantedStates, bind: Mapping[str, Bound]) -> Mapping[str, Bound]:
    """Returns the dims for caches that are one row longer; nothing if no mask is counted, if positions are, or if the file fixes
    the lengths."""
    if {imported.tensors[name].elements == 1 for name in states.counted} != {False}:
        return {}
    dims = {value.name: value.dims or () for value in imported.model.inputs}
    lengths: list[object] = []
    for output, source in states.pairs.items():
        sizes = zip(dims.get(source, ()), imported.tensors[output].dims, imported.tensors[source].dims)
        lengths += [name for name, after, before in sizes if after > before >= VALID]
    if lengths:
        lengths += [dims[name][-1] for name in states.counted]
    longer = {name: size + 1 for name, size in bind.items() if name in lengths and type(size) is int}
    return {**bind, **longer} if longer else {}


def _imported(
    model: OnnxModel,
    name: str,
    operators: Mapping[str, type[Operator]],
    bind: Mapping[str, Bound],
    states: WantedStates,
) -> Imported:
    """The graph; a refusal that a larger size of an open first axis would not meet says how to give it one."""
    attempt = Construction(model, name, operators, bind, states)
    try:
        return attempt.imported()
    except AidgeError as error:
        assumed = attempt.assumed
        if assumed and _is_read(model, name, operators, {**bind, **dict.fromkeys(assumed, LARGER)}, states):
            asked = " ".join(f"--bind {dim}=NUMBER" for dim in assumed)
            error.hint = f"the open first axis became 1; another size helps: {asked}"
        raise


def _is_read(
    model: OnnxModel,
    name: str,
    operators: Mapping[str, type[Operator]],
    bind: Mapping[str, Bound],
    states: WantedStates,
) -> bool:
    try:
        Construction(model, name, operators, bind, states).imported()
    except AidgeError:
        return False
    return True


def refuse_unknown_operators(model: OnnxModel, name: str, operators: Mapping[str, type[Operator]]) -> None:
    """Refuses a model with an operator that nothing reads."""
    Vocabulary(model, operators).refuse_unknown(model.nodes, Frame(model.opsets))
