# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors with broadcasting batches: what such kernels have in common."""

from __future__ import annotations

from typing import ClassVar

from aidge_build.contract.call import Call, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.linear_float32 import parameter
from aidge_build.contract.kernel_kit.products import BATCH_AXES, product_shape
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType


def _rank(view: NodeView) -> str:
    fits = all(2 <= tensor.rank <= BATCH_AXES + 2 for tensor in view.inputs[:2])
    return "" if fits else f"a rank is not in 2..{BATCH_AXES + 2}"


MATRICES = Predicate("matrices, at most 4 batch axes", _rank)


def product_spec(features: frozenset[str], *predicates: Predicate) -> ImplSpec:
    """Returns the spec of two float32 tensors of at least two axes, row-major."""
    side = IOSpec(DType.float32, ROW_MAJOR)
    return ImplSpec(side, features=features, predicates=(REAL, MATRICES, *predicates))


class MatMulFloat32(KernelNode):
    """A subclass states its function, its header, and what it computes at once."""

    function: ClassVar[str]
    source: ClassVar[str]
    at_once: ClassVar[str]

    def call(self) -> Call:
        fields, size = product_shape("", self.inputs, self.outputs[0]).fields, self.outputs[0].dtype.size_bytes
        in_bytes = {name: tuple(size * step for step in fields[name]) for name in ("first_steps", "second_steps")}
        shape = Struct("aidge_kit_product_float32", {**fields, **in_bytes})
        arguments = (parameter(self, 0, "first"), parameter(self, 1, "second"), Output(0), shape)
        return Call(self.function, (self.source,), arguments, facts=computed(self.at_once))
