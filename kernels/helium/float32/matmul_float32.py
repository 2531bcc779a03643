# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors, batches that broadcast: 3 rows by 8 columns at a time."""

from __future__ import annotations

from aidge_build.contract.call import Argument, Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout, row_major
from aidge_build.graph.tensor import Tensor
from aidge_build.kernel_kit.conditions import REAL

from ..conditions import MVE

BATCH_AXES = 4


def _rank(view: NodeView) -> str:
    fits = all(2 <= tensor.rank <= BATCH_AXES + 2 for tensor in view.inputs[:2])
    return "" if fits else f"a rank is not in 2..{BATCH_AXES + 2}"


@kernel(
    "MatMul",
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR),),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        features=MVE,
        predicates=(REAL, Predicate("matrices, at most 4 batch axes", _rank)),
    ),
)
class MatMulFloat32(KernelNode):
    def call(self) -> Call:
        first, second = self.inputs
        first_steps, second_steps = _batch_steps(first), _batch_steps(second)
        batches = [max(sizes) for sizes in zip(_batches(first), _batches(second))]
        rows, inner = first.dims[-2:]
        shape = Struct(
            "aidge_helium_product_float32",
            {
                "dims": tuple(batches),
                "first_steps": first_steps,
                "second_steps": second_steps,
                "rows": rows,
                "inner": inner,
                "columns": second.dims[-1],
            },
        )
        return Call(
            "aidge_helium_matmul_float32",
            ("float32/matmul.h",),
            (_pointer(0, "first", first), _pointer(1, "second", second), Output(0), shape),
            facts=computed("3 rows x 8 columns"),
        )


def _batches(tensor: Tensor) -> tuple[int, ...]:
    return (1,) * (BATCH_AXES + 2 - tensor.rank) + tensor.dims[:-2]


def _batch_steps(tensor: Tensor) -> tuple[int, ...]:
    """In bytes; of axes of length 1, which repeat, 0."""
    dims = (1,) * (BATCH_AXES + 2 - tensor.rank) + tensor.dims
    steps = layout(dims, row_major(len(dims)), tensor.dtype).strides[:BATCH_AXES]
    return tuple(0 if size == 1 else 4 * step for size, step in zip(dims, steps))


def _pointer(index: int, name: str, tensor: Tensor) -> Argument:
    return Constant(name, tensor.data) if tensor.is_constant else Input(index)
