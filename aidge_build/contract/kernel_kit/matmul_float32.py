# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors with broadcasting batches: what such kernels have in common. The second matrix may
hold int8 levels: rows of a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from aidge_build.contract.call import Call, Input, Literal, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.float_layers import Products, SeenProducts
from aidge_build.contract.kernel_kit.float_steps import FPU, FloatUnit
from aidge_build.contract.kernel_kit.linear_float32 import parameter
from aidge_build.contract.kernel_kit.members import members
from aidge_build.contract.kernel_kit.products import BATCH_AXES, batch_fields, matrix_dims
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format
from aidge_build.graph.tensor import Tensor


def _rank(view: NodeView) -> str:
    fits = all(2 <= tensor.rank <= BATCH_AXES + 2 for tensor in view.inputs[:2])
    return "" if fits else f"a rank is not in 2..{BATCH_AXES + 2}"


MATRICES = Predicate("matrices, at most 4 batch axes", _rank)


def product_spec(features: frozenset[str], *predicates: Predicate, second: DType = DType.float32) -> ImplSpec:
    """Returns the spec of a float32 tensor and another of this type, both of at least two axes, row-major."""
    side = IOSpec(DType.float32, ROW_MAJOR)
    sides = side, IOSpec(second, ROW_MAJOR)
    return ImplSpec(inputs=sides, outputs=(side,), features=features, predicates=(REAL, MATRICES, *predicates))


class MatMulFloat32(KernelNode):
    """A subclass states its function, its header, and what it computes at once."""

    function: ClassVar[str]
    source: ClassVar[str]
    at_once: ClassVar[str]
    unit: ClassVar[FloatUnit] = FPU

    def call(self) -> Call:
        arguments = (parameter(self, 0, "first"), parameter(self, 1, "second"), Output(0), shape_of(self.inputs, self.outputs[0]))
        steps = None if self.inputs[1].dtype is DType.int8 else Products(self.unit)
        return Call(self.function, (self.source,), arguments, facts=computed(self.at_once), steps=steps)


def shape_of(inputs: Sequence[Tensor], output: Tensor) -> Struct:
    """Returns the struct of batches, with steps in bytes, of the sizes, and of the distance of the second matrix's rows or, where
    the elements of a row are no neighbours, of its columns."""
    rows, inner, columns = matrix_dims(inputs)
    batches = batch_fields(inputs, output)
    for name, tensor in zip(("first_steps", "second_steps"), inputs):
        batches[name] = tuple(tensor.dtype.size_bytes * step for step in batches[name])
    step = max(inputs[1].layout.strides[-2:])
    return Struct("aidge_kit_product_float32", {**batches, "rows": rows, "columns": columns, "inner": inner, "step": step})


@dataclass(frozen=True)
class StoredProduct:
    """A product with a second matrix that is read as it is stored, without the copy that a Transpose before it may need. `first`
    and `second` are the operands with storage orders; `arguments` are their pointers."""

    first: Tensor
    second: Tensor
    arguments: tuple[Input, ...]
    permutation: tuple[int, ...] | None = None

    @classmethod
    def of(cls, view: NodeView) -> StoredProduct:
        """Returns the operands of a kernel with the pattern `STORED` or `STORED_SEEN`."""
        transpose, product = members(view)
        (source,), (first, second) = transpose.inputs, product.inputs[:2]
        order = Format(tuple(transpose.operator.permutation.index(axis) for axis in source.storage.order))
        place = view.operator.graph.inputs.index  # the node itself may read copies with other names
        names = product.node.inputs[0], transpose.node.inputs[0], *product.node.inputs[2:]
        pointers = tuple(Input(place(name)) for name in names)
        return cls(first, second.with_(format=order), pointers, transpose.operator.permutation)

    def steps(self, unit: FloatUnit, lanes: int = 1) -> Products | None:
        """Returns the operations of a kernel (`Call.steps`) that adds up in so many lanes; None for rows of bytes."""
        if self.second.dtype is DType.int8:
            return None
        first, second = (argument.index for argument in self.arguments[:2])
        return Products(unit, first, second, self.permutation, lanes)

    def seen_steps(self, view: NodeView, unit: FloatUnit, lanes: int = 1) -> Products | None:
        """Returns the same of SeenMatMul."""
        if self.second.dtype is DType.int8:
            return None
        first, second, position = (argument.index for argument in self.arguments)
        return SeenProducts(unit, first, second, self.permutation, lanes, position, is_inner(view))

    @property
    def reads_rows(self) -> bool:
        """Whether the elements of a row of the second matrix are neighbours; else the elements of a column are."""
        return self.second.layout.strides[-1] == 1


STORED, STORED_SEEN = "Transpose-1>MatMul", "Transpose-1>SeenMatMul"
FEW_ROWS = 3  # so many times, reading whole columns costs no more than a copy in rows and reading it for several rows at once


class StoredMatMul(KernelNode):
    """A kernel with the pattern `STORED`."""

    before_recipes = False


def _is_stored_apart(view: NodeView) -> str:
    transpose, product = members(view)
    tensors, permutation = (*transpose.inputs, *product.inputs), transpose.operator.permutation
    if any(tensor.is_constant for tensor in tensors) or product.inputs[0] is product.inputs[1]:
        return "an operand is constant, or both are one"
    if len(permutation) - 1 not in permutation[-2:]:
        return "neither rows nor columns of the second matrix are stored in one piece"
    return next(filter(None, (one.rejection(product) for one in (REAL, MATRICES))), "")


def _few_rows_by_columns(view: NodeView) -> str:
    transpose, product = members(view)
    permutation, rows = transpose.operator.permutation, product.inputs[0].dims[-2]
    is_by_rows = permutation[-1] == len(permutation) - 1
    return "" if is_by_rows or rows <= FEW_ROWS else f"{rows} rows with columns stored in one piece, wants at most {FEW_ROWS}"


_STORED = Predicate("a second matrix of whole rows or columns", _is_stored_apart)
FEW_ROWS_BY_COLUMNS = Predicate("whole rows, or few rows with whole columns", _few_rows_by_columns)


def stored_spec(features: frozenset[str] = frozenset(), *predicates: Predicate, second: DType = DType.float32) -> ImplSpec:
    """Returns the spec of kernels with the pattern `STORED`; `second`: the type of the second matrix."""

    def other_types(view: NodeView) -> str:
        found = [tensor.dtype for tensor in members(view)[1].inputs[:2]]
        return "" if found == [DType.float32, second] else f"{found[0].name} times {found[1].name}"

    side, types = IOSpec(DType.any, ROW_MAJOR), Predicate(f"float32 times {second.name}", other_types)
    outputs = (IOSpec(DType.float32, ROW_MAJOR),)
    return ImplSpec(inputs=(side, side), outputs=outputs, features=features, predicates=(_STORED, types, *predicates))


def _one_row_of_fours(view: NodeView) -> str:
    product = members(view)[-1] if view.node.type.startswith("Stored") else view
    (first, second), result = product.inputs[:2], product.outputs[0]
    if second.dtype not in (DType.float32, DType.int8) or first.dtype is not DType.float32:
        return f"{first.dtype.name} times {second.dtype.name}"
    if first.is_constant or second.is_constant:
        return "an operand is constant"
    sizes = first.dims[-2], first.dims[-1] % 4, result.dims[-1] % 4
    return "" if sizes == (1, 0, 0) else "more than one row, or sizes that are no multiples of 4"


ONE_ROW_OF_FOURS = Predicate("one row, sizes in fours", _one_row_of_fours)


def seen_spec(features: frozenset[str], *predicates: Predicate) -> ImplSpec:
    """Returns the spec of SeenMatMul, also with the pattern `STORED_SEEN` if `STORED_APART` is a predicate."""
    side = IOSpec(DType.any, ROW_MAJOR)
    outputs = (IOSpec(DType.float32, ROW_MAJOR),)
    return ImplSpec(inputs=(side, side, side), outputs=outputs, features=features, predicates=predicates)


def position_bytes(view: NodeView) -> Literal:
    """Returns the argument for the size of the position of SeenMatMul."""
    product = members(view)[-1] if view.node.type.startswith("Stored") else view
    return Literal(product.inputs[2].dtype.size_bytes)


def is_inner(view: NodeView) -> bool:
    """Whether the rows that SeenMatMul sees are the axis of the sums."""
    product = members(view)[-1] if view.node.type.startswith("Stored") else view
    return product.operator.inner


STORED_APART = _STORED
