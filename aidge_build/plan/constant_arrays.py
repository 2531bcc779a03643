# SPDX-License-Identifier: MIT
"""The constants of a model as C arrays: their symbols, their numbers as text, their bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Constant, Input
from aidge_build.graph.dtype import DType, element_type
from aidge_build.plan.constant_regions import places_of_constants
from aidge_build.plan.program import Layer, Program

_COLUMNS = 116


@dataclass(frozen=True, eq=False)
class Array:
    """A constant array in flash. `values` is flat; `origin` names its source, unescaped; `region` is the memory that
    --constants-in or --place gives it, "" for the memory of the other constants."""

    symbol: str
    values: numpy.ndarray
    origin: str
    least_alignment: int = 4  # word-wise loads of packed bytes
    region: str = ""

    @cached_property
    def dtype(self) -> DType:
        """The type of its elements in C."""
        return element_type(self.values.dtype)

    @property
    def length(self) -> int:
        """Elements of the C array; C has no arrays of length 0."""
        return max(1, self.values.size)

    @property
    def declarator(self) -> str:
        """The array in C, without what it is initialised with."""
        return f"const {self.dtype.c_type} {self.symbol}[{self.length}]"

    @cached_property
    def data(self) -> bytes:
        """The bytes as the target stores them: little-endian, exactly the values of the C text."""
        values = _as_in_c(self.values) if self.values.size else numpy.zeros(1, self.values.dtype)
        return values.astype(values.dtype.newbyteorder("<")).tobytes()

    @property
    def sha256(self) -> str:
        """The digest of `data`: what a check compares the linked bytes with."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def alignment(self) -> int:
        """The alignment in bytes; elements of 8 bytes need 8."""
        return max(self.least_alignment, self.dtype.size_bytes)

    def lines(self) -> list[str]:
        """Returns the exact numbers as lines of C text."""
        values = self.values if self.values.size else numpy.zeros(1, self.values.dtype)
        texts, width = _numbers(values)
        count = max(1, _COLUMNS // (width + 2))
        return [", ".join(texts[start : start + count]) + "," for start in range(0, len(texts), count)]


@dataclass(frozen=True, eq=False)
class Arrays:
    """All constants in the order of consumption; `of_layer[i]` maps the position of an argument to its array."""

    all: tuple[Array, ...]
    of_layer: tuple[Mapping[int, Array], ...]
    of_tensor: Mapping[str, Array]
    initial_state: Array | None = None  # None if it is all zeros

    @property
    def replaceable(self) -> tuple[Array, ...]:
        """The arrays that new weights replace, in the order in which layers read them: all except the initial state."""
        return tuple(array for array in self.all if array is not self.initial_state)

    @property
    def size_bytes(self) -> int:
        """Bytes of all arrays, without padding between them."""
        return sum(len(array.data) for array in self.all)

    def digest(self, layer: int) -> str:
        """Returns the sha256 of the bytes that a layer reads."""
        read = self.of_layer[layer]
        return hashlib.sha256(b"".join([read[position].data for position in sorted(read)])).hexdigest()


def arrays_of(program: Program) -> Arrays:
    """Returns the arrays of every layer, and of the constant tensors that layers read directly (each once)."""
    names = program.names
    found: list[Array] = []
    tensors: dict[str, Array] = {}
    of_layer = []
    for number, layer in enumerate(program.layers):
        read: dict[int, Array] = {}
        packed = _packed_words(layer)
        for position, argument in enumerate(layer.call.arguments):
            symbol = names.arrays.get((number, position))
            if symbol is not None and isinstance(argument, Constant):
                values = packed[position] if position in packed else _flat(argument.values, layer)
                read[position] = Array(symbol, values, f"{layer.node.name}: {argument.name}")
                found.append(read[position])
            elif symbol is not None and isinstance(argument, Input):
                tensor = layer.inputs[argument.index]
                if tensor.name not in tensors:
                    values = packed[position] if position in packed else _stored(tensor, layer)
                    tensors[tensor.name] = Array(symbol, values, tensor.name)
                    found.append(tensors[tensor.name])
                read[position] = tensors[tensor.name]
        of_layer.append(read)
    start = None
    if program.memory.states.needs_start:
        start = Array(names.initial_state, program.initial_state_bytes(), "the state before the first inference")
        found.append(start)
    return Arrays(_placed(program, found, of_layer), tuple(of_layer), tensors, start)


def _packed_words(layer: Layer) -> dict[int, numpy.ndarray]:
    """Returns the words of the arrays that flash holds packed, by the position of the argument."""
    if layer.copied is None or not layer.copied.copy.is_packed:
        return {}
    return {array.position: numpy.frombuffer(array.packed.words, "<u4") for array in layer.copied.copy.arrays if array.packed}


def _placed(program: Program, found: Sequence[Array], of_layer: Sequence[Mapping[int, Array]]) -> tuple[Array, ...]:
    """Returns the arrays with the memories that --constants-in gives them."""
    if not program.options.constants_in:
        return tuple(found)
    owner_of: dict[str, int] = {}
    for number, read in enumerate(of_layer):
        for array in read.values():
            owner_of.setdefault(array.symbol, number)
    places = places_of_constants(program, {array.symbol: len(array.data) for array in found}, owner_of)
    return tuple(replace(array, region=places.get(array.symbol, "")) for array in found)


def _stored(tensor, layer: Layer) -> numpy.ndarray:
    if tensor.data is None:
        raise AidgeError(
            f"tensor '{tensor.name}' is placed among the constants, but has no data",
            where=layer.node.where(),
            code="EMIT",
            hint="this is a fault of the compiler",
        )
    return _flat(tensor.to_stored(tensor.data), layer)


def _flat(values: numpy.ndarray, layer: Layer) -> numpy.ndarray:
    try:
        element_type(values.dtype)
    except ValueError:
        raise AidgeError(
            f"a constant has the type {values.dtype.name}, which C cannot hold",
            where=layer.node.where(),
            code="EMIT",
            hint=f"kernel {layer.kernel.name} of library {layer.kernel.library} must pack numbers",
        ) from None
    return numpy.ascontiguousarray(values).reshape(-1)


def _as_in_c(values: numpy.ndarray) -> numpy.ndarray:
    """Returns the values as C has them: one NAN, whatever bits a NaN of the model has, and one true."""
    if values.dtype.kind == "f" and values.dtype.itemsize > 2:
        return numpy.where(numpy.isnan(values), values.dtype.type(numpy.nan), values)
    return values.view(numpy.uint8) != 0 if values.dtype == numpy.bool_ else values


def _numbers(values: numpy.ndarray) -> tuple[list[str], int]:
    """Returns a C literal for each value, and the width of the widest possible literal (so that lines break at the same
    places)."""
    kind = element_type(values.dtype)
    if kind is DType.float16:
        return [f"0x{bits:04x}" for bits in values.view(numpy.uint16).tolist()], 6
    if kind is DType.bool:
        return ["1" if value else "0" for value in values.tolist()], 1
    if kind is DType.float32:  # numpy prints the shortest text that reads back as the same float32
        return [_real(text, "f", "") for text in values.astype("U32").tolist()], 15
    if kind is DType.float64:
        return [_real(repr(value), "", "(double)") for value in values.tolist()], 24
    return integers(values.tolist(), kind), max(len(text) for text in integers(kind.range, kind))


def _real(text: str, suffix: str, cast: str) -> str:
    if "n" in text:  # nan, inf, -inf
        sign = "-" if text.startswith("-") else ""
        return f"{sign}{cast}{'NAN' if 'nan' in text else 'INFINITY'}"
    return f"{text if '.' in text or 'e' in text else text + '.0'}{suffix}"


def integers(values: Sequence[int], kind: DType) -> list[str]:
    """Returns C literals that have the type's range on every compiler (the smallest signed numbers need an expression)."""
    suffix = _SUFFIXES.get(kind, "")
    smallest = kind.range[0]
    if kind.size_bytes >= 4 and smallest < 0:
        return [f"{value}{suffix}" if value > smallest else f"(-{-smallest - 1}{suffix} - 1)" for value in values]
    return _texts(values, suffix)


def _texts(values: Iterable[int], suffix: str) -> list[str]:
    to_text: Callable[[int], str] = str if not suffix else lambda value: f"{value}{suffix}"
    return list(map(to_text, values))


_SUFFIXES = {DType.uint32: "u", DType.int64: "LL", DType.uint64: "ULL"}


def integer(value: int) -> str:
    """Returns a C literal for a number without a known type: an argument, or a field of a struct."""
    for kind in (DType.int32, DType.uint32, DType.int64, DType.uint64):
        if kind.range[0] <= value <= kind.range[1]:
            return integers([value], kind)[0]
    raise AidgeError(f"the number {value} fits no C type", code="EMIT", hint="this is a fault of the kernel's Python class")
