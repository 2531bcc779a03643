# SPDX-License-Identifier: MIT
"""int8 fully connected layer without the blocks of weights that are 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.requantize import clamp_levels

from ..core.assembly import Assembler, c_function, loop
from ..core.conditions import linear_spec
from ..core.finer import numbers_of, offsets_of
from ..core.packed import Packing
from ..core.rounding import fixed_of, rounds_by_addition
from ..core.sparse import LANES, emit_begin, emit_end, sparse_bytes, too_many_blocks, vectors_of
from .dense import OUTPUTS, PARAMETERS, Dense

# Instructions of an output, and of a vector of its weights; of a vector where all are multiplied.
OF_OUTPUT, OF_VECTOR, OF_DENSE_VECTOR = 2, 6, 2.125


def _too_many_blocks(view: NodeView) -> str:
    rows = view.inputs[1].data
    if reason := too_many_blocks(view, rows):
        return reason
    left = OF_OUTPUT + OF_VECTOR * sum(map(vectors_of, rows)) / len(rows)
    all_of_them = OF_DENSE_VECTOR * -(-rows.shape[1] // LANES)
    return "" if left < all_of_them else f"about {left:.1f} instructions for an output instead of {all_of_them:.1f}"


FEW_BLOCKS = Predicate("few blocks of weights that are not 0", _too_many_blocks)


@dataclass(frozen=True)
class SparseDense(Dense):
    """Words of the row are at multiples of 4."""

    @property
    def name(self) -> str:
        return f"{super().name}_sparse"

    @property
    def apart(self) -> int:
        return self.outputs % OUTPUTS if self.groups == 1 else 0

    def _stored(self, rows: numpy.ndarray, packing: Packing | None) -> bytes:
        return b"".join(map(sparse_bytes, rows))

    def _products(self, emit: Assembler, sums: Sequence[str]) -> None:
        for number, total in enumerate(sums):
            emit_begin(emit, "%weights", f"vector_{number}")
            emit("vldrw.u32 %q.data, [%from, %q.block_places]", f"vmladava.s8 {total}, %q.data, %q.weights")
            emit_end(emit, f"vector_{number}")


@kernel("FC", linear_spec(ROW_MAJOR, FEW_BLOCKS))
class SparseFcInt8(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=view.inputs[1].dims[1])

    def call(self) -> Call:
        rows, (output,) = self.inputs[1].data, self.outputs
        numbers, _ = numbers_of(self, rows)
        fixed = fixed_of(numbers)
        levels = clamp_levels(self.operator.minimum, self.operator.maximum, output.quantization, output.dtype)
        is_uniform = fixed is None and len(set(numbers.multipliers.tolist())) == 1
        clamps, adds = levels != output.dtype.range, rounds_by_addition(numbers)
        form = SparseDense(*rows.shape[::-1], clamps, adds, fixed=fixed, uniform=is_uniform)
        batches = self.inputs[0].dims[0]
        name = f"{form.name}_rows_{batches}"
        copied = [f"    (void)memcpy(scratch, x, {form.inputs}u);", "    row = (const int8_t *)scratch;"]
        body = ["const int8_t *row = x;", "if (((uintptr_t)x & 3u) != 0u) {", *copied, "}", f"{form.name}(row, y, stream);"]
        body = loop("batch", batches, [*body, f"x += {form.inputs};", f"y += {form.outputs};"])
        driver = c_function(name, f"{PARAMETERS}, void *scratch", ["int32_t batch;", *body])
        arguments = (Input(0), Output(0), Constant("stream", form.stream(numbers, rows, offsets_of(rows))), Scratch())
        note = f"8 outputs at a time without blocks of zeros, requantized in {'fixed point' if fixed else 'float'}"
        facts = computed("1 row x 8 outputs", 0, otherwise="fixed point" if fixed else "float")
        return Call(name, ("core/helium.h",), arguments, note, (form.text(), driver), facts=facts)
