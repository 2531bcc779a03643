# SPDX-License-Identifier: MIT
"""Damage to what a .tflite file says, and to its bytes. Most of what is damaged by meaning is still a file that can be read."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy

from aidge_build.sources.formats.tflite.file.names import TYPES
from tests import tflite_cases, tflite_random
from tests.tflite_files import CODES, Graph, write
from tools.fuzz.mutations import FLOATS, INTEGERS, TEXTS, damaged_bytes

_NETWORK = "small network"
GRAPHS = {**tflite_cases.GRAPHS, **tflite_random.GRAPHS}


def damaged_tflite(chance: Random) -> bytes:
    """A small file with one to four changes of meaning, or with damaged bytes, or with both."""
    name = _NETWORK if chance.random() < 0.3 else chance.choice(sorted(GRAPHS))
    graph, kind = GRAPHS[name](), chance.random()
    if kind < 0.7:
        for _ in range(chance.choice((1, 1, 2, 3, 4))):
            chance.choice(_CHANGES)(graph, chance)
    try:
        data = write(graph)
    except (ValueError, OverflowError, TypeError):  # a number that no field holds
        data = write(GRAPHS[name]())
    return data if kind < 0.6 else damaged_bytes(data, chance)


def _integer(chance: Random) -> int:
    number = chance.choice((*INTEGERS, *(-one for one in INTEGERS), *range(-3, 9))) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def _dims(graph: Graph, chance: Random) -> None:
    """A tensor gets another length, one axis less or more."""
    dims, kind = chance.choice(graph.tensors)["dims"], chance.randrange(4)
    if kind == 0 and dims:
        del dims[chance.randrange(len(dims))]
    elif kind == 1:
        dims.insert(chance.randrange(len(dims) + 1), chance.choice((0, 1, 2, 5)))
    elif dims:
        dims[chance.randrange(len(dims))] = chance.choice((0, 1, 2, 3, 7, _integer(chance)))


def _type(graph: Graph, chance: Random) -> None:
    """A tensor gets another element type, and where it is constant elements of it."""
    tensor = chance.choice(graph.tensors)
    tensor["type"] = chance.choice(sorted(TYPES.values()))
    if tensor["data"] is not None and chance.random() < 0.6:
        kind = chance.choice(("float32", "float16", "int8", "uint8", "int16", "int32", "int64", "bool"))
        tensor["type"] = {"float32": "FLOAT32", "float16": "FLOAT16", "bool": "BOOL"}.get(kind, kind.upper())
        with numpy.errstate(all="ignore"):
            values = tensor["data"] if isinstance(tensor["data"], numpy.ndarray) else numpy.frombuffer(tensor["data"], "uint8")
            tensor["data"] = values.astype(kind)


def _numbers(graph: Graph, chance: Random) -> None:
    """One element of a constant, or all of them, become an extreme number."""
    tensor = chance.choice(graph.tensors)
    values = tensor["data"]
    if not isinstance(values, numpy.ndarray) or not values.size:
        return
    values = values.copy()
    with numpy.errstate(all="ignore"):
        number = numpy.array(chance.choice(FLOATS) if values.dtype.kind == "f" else _integer(chance)).astype(values.dtype)
    if chance.random() < 0.4:
        values[...] = number
    else:
        values.reshape(-1)[chance.randrange(values.size)] = number
    tensor["data"] = values


def _constness(graph: Graph, chance: Random) -> None:
    """A constant is computed, or a computed tensor constant."""
    tensor = chance.choice(graph.tensors)
    if tensor["data"] is None and max(tensor["dims"], default=1) < 100:
        tensor["data"] = numpy.zeros([max(size, 0) for size in tensor["dims"]], numpy.int8)
    else:
        tensor["data"] = None


def _quantization(graph: Graph, chance: Random) -> None:
    """Other scales, zero points, numbers of them, or another axis."""
    tensor, kind = chance.choice(graph.tensors), chance.randrange(5)
    if kind == 0:
        tensor["scales"] = [chance.choice(FLOATS) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
        tensor["zero_points"] = [0] * len(tensor["scales"])
    elif kind == 1:
        tensor["zero_points"] = [_integer(chance) for _ in range(chance.choice((0, 1, 2)))]
    elif kind == 2:
        tensor["axis"] = chance.choice((0, 1, 2, 3, -1, _integer(chance)))
    elif kind == 3:
        tensor["scales"] = [chance.choice(FLOATS)]
        tensor["zero_points"] = [chance.choice((0, 1, -128, 127, 255))]
    else:
        tensor["scales"], tensor["zero_points"] = [0.25], [3]


def _wire(graph: Graph, chance: Random) -> None:
    """A node reads or writes another tensor, one more or one less."""
    node = chance.choice(graph.nodes)
    side = chance.choice(("inputs", "inputs", "outputs"))
    indices, some = list(node[side]), chance.choice((-1, 0, 1, len(graph.tensors), *range(len(graph.tensors)), _integer(chance)))
    kind = chance.randrange(3)
    if kind == 0 and indices:
        indices[chance.randrange(len(indices))] = some
    elif kind == 1 and indices:
        del indices[chance.randrange(len(indices))]
    else:
        indices.append(some)
    node[side] = indices


def _port(graph: Graph, chance: Random) -> None:
    """The graph hands in or out another tensor, one more or one less."""
    indices = chance.choice((graph.inputs, graph.outputs))
    if chance.random() < 0.3 and indices:
        del indices[chance.randrange(len(indices))]
    else:
        indices.append(chance.randrange(len(graph.tensors)))


def _options(graph: Graph, chance: Random) -> None:
    """An option gets another value; or the options are of another kind, or gone."""
    node = chance.choice(graph.nodes)
    if chance.random() < 0.15 or not node["options"]:
        node["options_kind"] = chance.choice((0, 1, 5, 8, 255))
        return
    fields = list(node["options"])
    at = chance.randrange(len(fields))
    number, kind, value = fields[at]
    if kind == "float32":
        value = chance.choice(FLOATS)
    elif kind == "bool":
        value = not value
    elif kind == "int8":
        value = chance.choice((0, 1, 2, 3, 4, 5, 127, -1))
    elif kind == "int32":
        value = chance.choice((0, 1, 2, 3, -1, -2, 7, 255, _integer(chance)))
    fields[at] = number, kind, value
    node["options"] = tuple(fields)


def _operator(graph: Graph, chance: Random) -> None:
    """Another operator on the same tensors."""
    chance.choice(graph.nodes)["kind"] = chance.choice((*sorted(CODES), "CUSTOM Mine"))


def _name(graph: Graph, chance: Random) -> None:
    """Another name: empty, taken, long, or with characters that terminals obey."""
    chance.choice(graph.tensors)["name"] = chance.choice((*TEXTS, "t0", "t1"))


def _variable(graph: Graph, chance: Random) -> None:
    chance.choice(graph.tensors)["is_variable"] = True


_CHANGES: tuple[Callable[[Graph, Random], None], ...] = (
    *(_dims, _dims, _type, _numbers, _numbers, _constness, _quantization, _quantization, _wire, _wire),
    *(_port, _options, _options, _options, _operator, _name, _variable),
)
