# SPDX-License-Identifier: MIT
"""Dims of inputs that a file leaves open: by `--bind`, or the size that the file suggests; a batch is 1 by rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.sources.dims import Bound, shown
from aidge_build.sources.formats.tflite.file import TfliteSubgraph

LARGER = 64  # of an open first axis, tried where 1 is refused


def with_sizes(graph: TfliteSubgraph, names: Mapping[int, str], bind: Mapping[str, Bound]) -> TfliteSubgraph:
    """Returns the graph with these sizes of its inputs' open dims, which are called `<input>.<axis>`; `names` names the inputs.

    AidgeError (code BIND) for a size that fits no open dim, and for an open dim after the first one without a size.
    """
    places = _open_dims(graph, names)
    for name, size in sorted(bind.items()):
        where = f"--bind {name}={shown(size)}"
        if name not in places:
            hint = f"open dimensions are: {', '.join(places)}" if places else "all dimensions of the model are fixed"
            raise AidgeError(f"{where}: the model has no open dimension '{name}'", code="BIND", hint=hint)
        if type(size) is not int or size < 1:
            raise AidgeError(f"{where}: a dimension must be a positive integer", code="BIND")
    tensors = list(graph.tensors)
    missing = [name for name, (index, axis) in places.items() if axis > 0 and name not in bind and tensors[index].dims[axis] == 1]
    if missing:
        index, axis = places[missing[0]]
        asked = " ".join(f"--bind {name}=NUMBER" for name in missing)
        raise AidgeError(
            f"graph input '{names[index]}': the file leaves dimension {axis} open", code="BIND", hint=f"give it a size: {asked}"
        )
    for name, size in bind.items():
        index, axis = places[name]
        dims = tensors[index].dims
        tensors[index] = replace(tensors[index], dims=(*dims[:axis], int(size), *dims[axis + 1 :]))  # type: ignore[arg-type]
    return replace(graph, tensors=tuple(tensors)) if bind else graph


def assumed_batches(graph: TfliteSubgraph, names: Mapping[int, str], bind: Mapping[str, Bound]) -> tuple[str, ...]:
    """The open first axes that are 1 because nothing says otherwise."""
    places = _open_dims(graph, names).items()
    return tuple(name for name, (index, axis) in places if axis == 0 and name not in bind and graph.tensors[index].dims[0] == 1)


def _open_dims(graph: TfliteSubgraph, names: Mapping[int, str]) -> dict[str, tuple[int, int]]:
    """Returns name of each open dim of an input -> tensor and axis."""
    return {f"{names[index]}.{axis}": (index, axis) for index in graph.inputs for axis in graph.tensors[index].open_dims}
