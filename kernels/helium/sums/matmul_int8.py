# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time: columns of the second one become the stream of a product
(product.py) in scratch, and the rows of the first one its windows.

The zero point of the second matrix is what the weights of each column lack (finer.py), that of the first one is in the biases.
The last rows are copied where a whole vector would read behind them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.call import Call, Constant, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.contract.kernel_kit.products import (
    batch_fields,
    matrix_dims,
    operand,
    product_multiplier,
    product_range,
    product_spec,
)
from aidge_build.contract.kernel_kit.terms import plus
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.contracts import FloatFactors

from ..core.assembly import c_function
from ..core.conditions import MVE
from ..core.rounding import MOST_LEVELS
from .plan import PIXELS
from .product import HEAD_BYTES, LANES, Product
from .product_text import text_of
from .stream import WIDEST, product_stream

BAND_BYTES = {"speed": 8192, "balanced": 4096, "size": 1024}  # of scratch for the columns that are a stream at a time
PARAMETERS = (
    "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *pattern, void *scratch, "
    "const aidge_helium_matrices *shape"
)
FARTHEST = 65_535 // 7  # columns: eight elements of one are gathered by offsets of 16 bits


def _too_wide(view: NodeView) -> str:
    columns = matrix_dims(view.inputs)[2]
    return f"{columns} columns, at most {min(FARTHEST, WIDEST)}" if columns > min(FARTHEST, WIDEST) else ""


@kernel("MatMul", product_spec(Predicate("eight elements of a column within 16 bits", _too_wide), features=MVE))
class MatmulInt8(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=_Matrices.of(view).scratch_bytes)

    def call(self) -> Call:
        matrices = _Matrices.of(self.view)
        text = text_of(matrices.form)
        name = matrices.form.name.replace("_product_", f"_matmul_{matrices.rows}_", 1)
        name += f"_columns_{matrices.columns}" if matrices.columns != matrices.band else ""
        fields = {
            **batch_fields(self.inputs, self.outputs[0]),
            "inner": matrices.inner,
            "columns": matrices.columns,
            "vectors": matrices.form.vectors,
            "head_bytes": matrices.head_bytes,
            "tail_bytes": matrices.tail_bytes,
            "first_zero": self.inputs[0].quantization.zero_point,
            "second_zero": self.inputs[1].quantization.zero_point,
        }
        return Call(
            name,
            ("sums/matmul_int8.h",),
            (
                operand(self.inputs, 0),
                operand(self.inputs, 1),
                Output(0),
                Constant("pattern", matrices.pattern),
                Scratch(),
                Struct("aidge_helium_matrices", fields),
            ),
            "columns of the second matrix as a stream, requantized in float",
            (text, matrices.driver(name)),
            facts=computed(f"{matrices.form.pixels} rows x 2 columns", 0, otherwise="float"),
        )


@dataclass(frozen=True)
class _Matrices:
    """One product of matrices: which rows and columns are computed together."""

    view: NodeView
    rows: int
    inner: int
    columns: int

    @classmethod
    def of(cls, view: NodeView) -> _Matrices:
        return cls(view, *matrix_dims(view.inputs))

    @property
    def pixels(self) -> int:
        """Rows of a block."""
        return min(self.rows, PIXELS)

    @property
    def band(self) -> int:
        """Columns that are a stream at a time: all, or an even number of them, of which the last ones overlap those before."""
        most = max(2, BAND_BYTES[self.view.objective] // (2 * LANES * -(-self.inner // LANES)) * 2)
        count = -(-self.columns // most)
        return self.columns if count == 1 else -(-self.columns // (2 * count)) * 2

    @property
    def form(self) -> Product:
        vectors = -(-self.inner // LANES)
        form = Product(self.pixels, self.inner, 1, 0, 1, self.inner, vectors, self.band, gap=self.columns - self.band)
        return replace(form, adds=self._adds, offsets=self.view.inputs[1].quantization.zero_point != 0)

    @property
    def _adds(self) -> bool:
        """Whether levels may be rounded by the addition of rounding.py."""
        (output,), inputs = self.view.outputs, self.view.inputs
        largest = max(map(abs, product_range(inputs))) * float(product_multiplier(inputs, output)[0])
        return self.band % 2 == 0 and output.quantization.zero_point % 2 == 0 and largest < MOST_LEVELS

    @property
    def direct(self) -> int:
        """Blocks of rows from the first that are read where they are: a whole vector can be read behind them."""
        rows_behind = -(-(-self.inner % LANES) // self.inner)
        return max(0, self.rows - rows_behind) // self.pixels

    @property
    def rest(self) -> int:
        """The first row of the blocks behind those, of which the last one may overlap another."""
        done = self.pixels * self.direct
        return min(done, self.rows - self.pixels) if done < self.rows else self.rows

    @property
    def copied_bytes(self) -> int:
        """The bytes of the rows after which no whole vector can be read."""
        return (self.rows - self.rest) * self.inner if self.inner % LANES else 0

    @property
    def pairs(self) -> int:
        return (self.band + 1) // 2

    @property
    def tail_bytes(self) -> int:
        """The bytes of the numbers of a pair of columns."""
        return 4 * self.form.parameter_words

    @property
    def head_bytes(self) -> int:
        """Before the first pair."""
        return HEAD_BYTES + LANES * self.form.vectors * self.form.offsets

    @property
    def stream_bytes(self) -> int:
        return self.head_bytes + self.pairs * (2 * LANES * self.form.vectors + self.tail_bytes)

    @property
    def scratch_bytes(self) -> int:
        return self.stream_bytes + (self.copied_bytes + LANES if self.copied_bytes else 0)

    @property
    def pattern(self) -> numpy.ndarray:
        """The stream without weights: its head, the numbers of the first pair, of the last but one, and of the last one."""
        form, (output,), nothing = self.form, self.view.outputs, numpy.zeros(self.band, numpy.int64)
        factors = FloatFactors(numpy.repeat(product_multiplier(self.view.inputs, output), self.band))
        first, second = (tensor.quantization.zero_point for tensor in self.view.inputs)
        windows = numpy.zeros((self.band, 1, 1, self.inner), numpy.int8)
        numbers = LinearConstants(
            windows, nothing, nothing, factors, False, first, output.quantization.zero_point, *DType.int8.range
        )
        stream = product_stream(form, windows, numbers, offsets=nothing - second if form.offsets else None)
        assert len(stream) == self.stream_bytes
        pair = 2 * LANES * form.vectors + self.tail_bytes
        parts = [stream[self.head_bytes + pair * (index + 1) - self.tail_bytes :][: self.tail_bytes] for index in self._numbered]
        return numpy.concatenate([stream[: self.head_bytes], *parts]).view("<i4").astype(numpy.int32)

    @property
    def _numbered(self) -> tuple[int, int, int]:
        """The pairs of which the pattern has the numbers."""
        return 0, max(0, self.pairs - 2), self.pairs - 1

    def driver(self, name: str) -> str:
        """The C text of all batches."""
        starts = sorted({min(start, self.columns - self.band) for start in range(0, self.columns, self.band)})
        copies = [f"aidge_helium_copy(copied, {plus('first', self.rest * self.inner)}, {self.copied_bytes});"]
        batch = copies if self.copied_bytes else []
        for start in starts:
            batch += [f"aidge_helium_columns(stream, {plus('second', start)}, {self.band}, shape);", *self._blocks(start)]
        body = [
            "int8_t *const stream = (int8_t *)scratch;",
            *([f"int8_t *const copied = stream + {self.stream_bytes};"] if self.copied_bytes else []),
            "int32_t place[4] = {0, 0, 0, 0};",
            f"aidge_helium_numbers(stream, pattern, {self.band}, shape);",
            "do {",
            *(f"    {line}" for line in batch),
            f"    output += {self.rows * self.columns};",
            "} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);",
        ]
        return c_function(name, PARAMETERS, body)

    def _blocks(self, start: int) -> list[str]:
        """The calls for all rows of the columns from `start`."""
        pixels, place = self.pixels, "copied" if self.copied_bytes else "first"
        begins = self.rest if self.copied_bytes else 0
        blocks, left = divmod(self.rows - self.rest, pixels)
        runs = [("first", 0, self.direct), (place, self.rest - begins, blocks)]
        runs += [(place, self.rows - pixels - begins, 1)] if left else []
        ends = [0, self.rest, self.rows - pixels]  # of outputs
        return [
            f"{self.form.name}({plus(source, row * self.inner)}, {plus('output', end * self.columns + start)}, stream, {count});"
            for (source, row, count), end in zip(runs, ends)
            if count
        ]
