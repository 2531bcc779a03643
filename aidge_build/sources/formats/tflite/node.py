# SPDX-License-Identifier: MIT
"""A node of a .tflite file as a piece of `operators/` sees it: its tensors, its options, and the graph that it adds to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import constant
from aidge_build.operators.arithmetic.requantize import dequantize, dequantize_linear
from aidge_build.operators.axes import counted_axes, counted_axis
from aidge_build.operators.base import Operator, require
from aidge_build.operators.binary import Max, Min, Where
from aidge_build.operators.cast import Cast
from aidge_build.operators.kinds import Moved
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.restated import Restated
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.sources.draft import Draft, Result
from aidge_build.sources.formats.tflite.dilation import Spread
from aidge_build.sources.formats.tflite.file import TfliteOperator
from aidge_build.sources.formats.tflite.order import Order, Wants, channels_first, file_order, moves_long_axes
from aidge_build.sources.formats.tflite.registry import Piece
from aidge_build.sources.formats.tflite.values import QUANTIZED, Value

_ON_INTEGERS = (Cast, Max, Min, Moved, Where)  # operators that mean the same on stored integers and on real values


class TfliteNode:
    """One node. All methods raise AidgeError with a reason; dims, axes and `Value`s count as in the file."""

    def __init__(
        self,
        operator: TfliteOperator,
        piece: Piece,
        values: dict[int, Value],
        draft: Draft,
        spread: Spread | None = None,
        rounding: str = "onnx",
        remembered: dict[int, tuple[str, Order]] | None = None,
        adding: Any = None,
    ):
        self.operator, self.spread, self.adding = operator, spread, adding  # an `adding.Adding`: runs called graphs
        self.name = operator.name
        self._piece, self._values, self._draft, self._rounding = piece, values, draft, rounding
        self._remembered = {} if remembered is None else remembered

    @property
    def rounding(self) -> str:
        """The numerical contract of the build."""
        return self._rounding

    def add(self) -> None:
        """Adds the node's meaning to the graph."""
        self._piece.meaning(self)

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """The options that the piece names."""
        return self.operator.options(self._piece.options_kind, self._piece.options)

    def refuse_unsigned(self) -> None:
        """Under the contract `double` uint8 is computed as int8, another rule where halves go away from zero."""
        unsigned = any(value.dtype is DType.uint8 for value in (self.input(0), self.output()))
        require(
            self._rounding == "onnx" or not unsigned, f"{self.operator.type} of uint8 has a rule of its own", "--rounding onnx"
        )

    @property
    def on_stored(self) -> bool:
        """Whether the contract itself defines operators on stored values: they then need no detour through float32."""
        return self._rounding != "onnx" and self.output().quantization is not None

    # Inputs, outputs and attributes.

    @property
    def input_count(self) -> int:
        """The number of inputs, absent ones included; at least one."""
        require(len(self.operator.inputs) > 0, "it has no input")
        return len(self.operator.inputs)

    def optional_input(self, index: int) -> Value | None:
        """An input, or None where it is not given."""
        found = self.operator.inputs[index] if index < len(self.operator.inputs) else -1
        if found < 0:
            return None
        value = self._values.get(found)
        if value is None or not value.is_constant and value.name not in self._draft.tensors:
            raise AidgeError(f"nothing produces its input {index} (tensor {found}) before it", code="GRAPH")
        return value

    def input(self, index: int) -> Value:
        """An input that must be given."""
        value = self.optional_input(index)
        require(value is not None, f"input {index} is not given")
        return value

    def constant(self, index: int) -> numpy.ndarray:
        """The elements of an input that must be constant, in the order of the file."""
        value = self.input(index)
        require(
            value.is_constant,
            f"input {index} ('{value.name}') must be constant, but it is computed at run time",
            "convert the model with fixed shapes",
        )
        return value.data

    def integers(self, index: int) -> tuple[int, ...]:
        """The elements of a constant list of integers."""
        values = self.constant(index)
        require(values.dtype.kind in "iu" and values.ndim <= 1, f"input {index} must be a list of integers")
        return tuple(int(number) for number in values.reshape(-1))

    def intermediate(self, index: int) -> Quantization:
        """Returns the quantization of a value inside the node."""
        require(index < len(self.operator.intermediates), f"intermediate {index} is not given")
        found = self._values[self.operator.intermediates[index]].quantization
        require(found is not None and found.per_tensor, f"intermediate {index} has no scale, or several")
        return found

    @property
    def output_count(self) -> int:
        """The number of outputs."""
        return len(self.operator.outputs)

    def output(self, index: int = 0) -> Value:
        """Returns the file's facts about an output."""
        require(index < self.output_count, f"it has {self.output_count} outputs")
        return self._values[self.operator.outputs[index]]

    # The order of axes.

    def order(self, rank: int) -> Order:
        """Returns the order in which the node counts the axes of tensors of this rank."""
        if self._piece.wants is Wants.CHANNELS:
            return channels_first(rank)
        if self._piece.wants is Wants.SAME:
            outputs = [self._values[number] for number in self.operator.outputs]
            for value in (*outputs, *map(self.optional_input, range(len(self.operator.inputs)))):
                if value and value.rank == rank and not value.is_constant:
                    return value.order
        return file_order(rank)

    def axis(self, axis: int, rank: int) -> int:
        """Returns the node's number of an axis; `axis` is the file's number, which may be negative."""
        return self.order(rank).index(counted_axis(axis, rank))

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """The same for several axes, sorted."""
        order = self.order(rank)
        return tuple(sorted(order.index(axis) for axis in counted_axes(tuple(axes), rank)))

    def ordered(self, numbers: Sequence[Any]) -> tuple:
        """Returns numbers for each axis of the file in the order of the node."""
        return tuple(numbers[axis] for axis in self.order(len(numbers)))

    # Additions to the graph.

    def read(self, index: int, order: Order | None = None) -> str:
        """Returns the tensor in the graph, in this order, by default the node's order."""
        value = self.input(index)
        wanted = self._wanted(value, order)
        if value.is_constant:
            return self.add_constant(value.name, value.data.transpose(wanted), _moved(value.quantization, wanted))
        return self.in_order(value.name, value.order, wanted)

    def elements(self, index: int) -> str:
        """Returns the tensor with its elements in the file's row-major order: in its own order if only axes of length 1 moved."""
        value = self.input(index)
        if value.is_constant or moves_long_axes([value.dims[axis] for axis in value.order], value.order, file_order(value.rank)):
            return self.read(index, file_order(value.rank))
        return value.name

    def write_elements(self, index: int, dims: Sequence[int]) -> None:
        """The elements of an input under other dims, and nothing else."""
        data, made = self.elements(index), self.output()
        order = file_order(len(dims))
        if made.rank == len(dims):
            inner = tuple(dims[axis] for axis in made.order)
            order = order if moves_long_axes(inner, made.order, order) else made.order
        self.move(Reshape(tuple(dims[axis] for axis in order)), [data], order)

    def read_wide(self, index: int, rank: int) -> str:
        """The same with axes of length 1 in front, as broadcasting adds them, so that the order of the node means them."""
        value = self.input(index)
        if value.rank == rank or rank < 4:
            return self.read(index)
        require(value.rank < rank, f"its input '{value.name}' has {value.rank} axes, its result {rank}")
        dims, wanted = (1,) * (rank - value.rank) + value.dims, self.order(rank)
        if value.is_constant:
            require(value.quantization is None or value.quantization.per_tensor, f"'{value.name}' has several scales")
            return self.add_constant(value.name, value.data.reshape(dims).transpose(wanted), value.quantization)
        wide = self.step(Reshape(dims), [self.read(index, file_order(value.rank))], value)
        return self.in_order(wide, file_order(rank), wanted)

    def add_constant(self, name: str, values: numpy.ndarray, quantization: Quantization | None = None) -> str:
        """A constant in the order of the graph."""
        return self._draft.constant(name, values, quantization)

    def step(self, operator: Operator, inputs: Sequence[str], like: Value | None = None, **changes) -> str:
        """A node between; its result means what the stored values of `like` mean, or (None) has the type that it infers."""
        quantization = changes.get("quantization", None if like is None else like.quantization)
        dtype = DType.float32 if like is None else like.dtype
        name = self._draft.free_name(f"{self.name}_{operator.type.lower()}")
        self._draft.add_node(self.name, operator, inputs, [Result(name, dtype, quantization)], self.name)
        return name

    def steps(self, operator: Operator, inputs: Sequence[str], likes: Sequence[Value | None]) -> list[str]:
        """`step` of an operator with as many results as there are `likes`."""
        results = [
            Result(self._draft.free_name(f"{self.name}_{operator.type.lower()}_{place}"), DType.float32, None)
            if like is None
            else Result(self._draft.free_name(f"{self.name}_{operator.type.lower()}_{place}"), like.dtype, like.quantization)
            for place, like in enumerate(likes)
        ]
        self._draft.add_node(self.name, operator, inputs, results, self.name)
        return [result.name for result in results]

    def write(self, operator: Operator, inputs: Sequence[str], order: Order | None = None, only: int | None = None) -> None:
        """Writes the node that computes the outputs of the file's node (`only`: one of them), in this order of axes, by default
        the node's order."""
        results, after = [], []
        if self.on_stored and not isinstance(operator, QuantizeLinear):
            self._refuse_real(inputs, isinstance(operator, Cast))
        for number in self._written(only):
            value = self._values[number]
            meant = value.quantization is not None or value.dtype not in QUANTIZED or isinstance(operator, _ON_INTEGERS)
            require(meant or operator.views, f"'{value.name}' is {value.dtype.name} without scale")
            made = self.order(value.rank) if order is None else order
            name = value.name
            if made != value.order:
                name = self._draft.free_name(f"{value.name}_computed")
                after.append((name, value, made))
            results.append(Result(name, value.dtype, value.quantization))
        self._draft.add_node(self.name, operator, inputs, results, self.name)
        for name, value, made in after:
            self._add_reordered(name, value.name, made, value.order)

    def _refuse_real(self, inputs: Sequence[str], first_is_plain: bool) -> None:
        """Refuses numbers without a scale for stored values; indices and conditions have none."""
        for place, tensor in enumerate(self._draft.tensors[name] for name in inputs if name):
            counts = tensor.dtype in (DType.float32, *QUANTIZED) or (place == 0 and not first_is_plain)
            plain = tensor.quantization is None and tensor.dtype is not DType.bool and counts
            require(not plain, f"'{tensor.name}' is {tensor.dtype.name} without scale, its output has one")

    def move(self, operator: Operator, inputs: Sequence[str], order: Order | None = None, only: int | None = None) -> None:
        """Writes an operator that passes stored values on: the outputs' quantization gives their meaning after it."""
        self.write(operator, [self.as_output(inputs[0], only), *inputs[1:]], order, only)

    def as_output(self, name: str, only: int | None = None) -> str:
        """Returns the same stored values with the quantization of the outputs (`only`: of one of them)."""
        given, outputs = self._draft.tensors[name], [self._values[number] for number in self._written(only)]
        if all(value.quantization == given.quantization for value in outputs):
            return name
        require(all(value.dtype is given.dtype for value in outputs), f"its input is {given.dtype.name}, its output is not")
        require(len({value.quantization for value in outputs}) == 1, "its outputs have several quantizations")
        return self.step(Restated(), [name], outputs[0])

    def _written(self, only: int | None) -> tuple[int, ...]:
        return self.operator.outputs if only is None else self.operator.outputs[only : only + 1]

    # The real form: float32 between explicit DequantizeLinear and QuantizeLinear.

    def read_real(self, index: int, order: Order | None = None) -> str:
        """Returns the real values of an input, in float32; a constant becomes float32 here."""
        value = self.input(index)
        if value.is_constant and value.quantization is not None:
            return self.add_constant(f"{value.name}_real", self._real_elements(value, self._wanted(value, order)))
        return self._dequantized(self.read(index, order), value)

    def wide_real(self, index: int, rank: int) -> str:
        """`read_wide` of the real numbers."""
        value = self.input(index)
        if value.rank == rank or rank < 4:
            return self.read_real(index)
        require(value.rank < rank, f"its input '{value.name}' has {value.rank} axes, its result {rank}")
        dims, wanted = (1,) * (rank - value.rank) + value.dims, self.order(rank)
        real = self.step(Reshape(dims), [self.read_real(index, file_order(value.rank))])
        return self.in_order(real, file_order(rank), wanted)

    def constant_real(self, index: int, order: Order) -> str:
        """Returns a constant with its axes in this order, after a DequantizeLinear if it is quantized: recipes look for that."""
        value, quantization = self.input(index), self.input(index).quantization
        name = self.add_constant(value.name, self.constant(index).transpose(order))
        return self._dequantized(name, value, None if quantization is None else _moved(quantization, order))

    def bias_real(self, index: int, units: Quantization | None) -> str:
        """Returns a constant bias in float32, or its integers in these units after a DequantizeLinear."""
        value = self.input(index)
        if value.dtype is DType.float32:
            return self.read(index)
        integers = value.is_constant and value.dtype in (DType.int32, DType.int64)
        require(integers, f"its bias is {value}, wants float32 or constant integers")
        require(units is not None, f"its bias is {value}, but data or weights have no scale")
        if value.dtype is DType.int64:
            return self.add_constant(f"{value.name}_real", dequantize(value.data, units).astype(numpy.float32))
        return self._dequantized(self.read(index), value, units)

    def write_real(self, operator: Operator, inputs: Sequence[str], order: Order | None = None, exact: bool = False) -> None:
        """Writes the node in float32, and its output from the result (`write_stored`)."""
        if self.output().quantization is None:
            self.write(operator, inputs, order)
        else:
            self.write_stored(self.step(operator, inputs), order, exact)

    def write_function(self, operator: Operator, index: int = 0) -> None:
        """The operator on one input: in real numbers, or on stored values where the contract has a meaning of its own."""
        if self.on_stored:
            self.write(operator, [self.read(index)])
        else:
            self.write_real(operator, [self.read_real(index)])

    def write_stored(self, real: str, order: Order | None = None, exact: bool = False) -> None:
        """Writes the quantized output for these real values; `exact`: a recipe turns all of it into one operator on integers."""
        require(
            self._rounding == "onnx" or self.operator.type == "QUANTIZE" or exact,
            "it is computed in real numbers, which the contract tflite does not say",
            "--rounding onnx computes it",
        )
        value = self.output()
        quantization = _moved(value.quantization, self._wanted(value, order))
        quantize = QuantizeLinear(dtype=value.dtype, **_axis_of(quantization))
        self.write(quantize, [real, *self._parameters(value.name, quantization, value.dtype)], order)

    def remember(self, index: int, name: str, order: Order) -> None:
        """Makes input `index` a variable of this node: `read` gives its old value; the tensor `name`, with its axes in this
        order, is the value that the next inference reads. It begins with zeros."""
        value = self.input(index)
        require(value.index not in self._remembered, f"'{value.name}' has two next values")
        self._remembered[value.index] = name, order

    def write_constant(self, values: numpy.ndarray) -> None:
        """An output that is known here, in the order of the file."""
        value = self.output()
        require(values.ndim == value.rank, f"its result has rank {values.ndim}, is declared with rank {value.rank}")
        self._draft.add_tensor(constant(value.name, numpy.asarray(values.transpose(value.order), order="C"), value.quantization))

    def _wanted(self, value: Value, order: Order | None) -> Order:
        return self.order(value.rank) if order is None else order

    def _real_elements(self, value: Value, order: Order) -> numpy.ndarray:
        return dequantize_linear(value.data, value.quantization).transpose(order)

    def _dequantized(self, name: str, value: Value, quantization: Quantization | None = None) -> str:
        """Returns the real values of a tensor's stored values, by its own quantization or by `quantization`."""
        quantization = quantization or self._draft.tensors[name].quantization
        if quantization is None:
            require(value.dtype is DType.float32, f"'{value.name}' is {value.dtype.name} without scale")
            return name
        return self.step(
            DequantizeLinear(**_axis_of(quantization)), [name, *self._parameters(value.name, quantization, value.dtype)]
        )

    def _parameters(self, name: str, found: Quantization, dtype: DType) -> tuple[str, str]:
        """Returns constants with scale and zero point of a quantized tensor."""
        scales, points = numpy.array(found.scales, numpy.float32), numpy.array(found.zero_points, dtype.numpy)
        one = () if found.per_tensor else scales.shape
        return self.add_constant(f"{name}_scale", scales.reshape(one)), self.add_constant(
            f"{name}_zero_point", points.reshape(one)
        )

    def in_order(self, name: str, order: Order, wanted: Order) -> str:
        """The tensor with its axes in another order: another name for the same elements."""
        return name if order == wanted else self._add_reordered(name, None, order, wanted)

    def _add_reordered(self, name: str, result: str | None, order: Order, wanted: Order) -> str:
        given = self._draft.tensors[name]
        declared = len(wanted) if len(order) == given.rank else len(order)
        require(given.rank == declared, f"its result has rank {given.rank}, is declared with rank {declared}")
        dims = tuple(given.dims[order.index(axis)] for axis in wanted)
        view: Operator = Transpose(tuple(order.index(axis) for axis in wanted))
        if not moves_long_axes(given.dims, order, wanted):
            view = Reshape(dims)
        made = result or self._draft.free_name(f"{name}_{view.type.lower()}")
        self._draft.add_node(self.name, view, [name], [Result(made, given.dtype, given.quantization)], self.name)
        return made


def _axis_of(quantization: Quantization) -> dict[str, int]:
    return {} if quantization.axis is None else {"axis": quantization.axis}


def _moved(quantization: Quantization | None, order: Order) -> Quantization | None:
    """Returns the quantization of a tensor after its axes are put into another order."""
    if quantization is None or quantization.axis is None:
        return quantization
    return Quantization(quantization.scales, quantization.zero_points, order.index(quantization.axis))
