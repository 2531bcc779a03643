# SPDX-License-Identifier: MIT
"""float32 products with packed weights, which stay packed in flash: integers of a block of a row meet words of all columns."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.packed_product import PackedProduct, block_of, packed_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView

WORD_BITS = 32


@kernel("MatMulNBits", packed_spec())
class MatMulNBitsFloat32(KernelNode):
    # Instructions of a multiply-accumulate, and of a block of a column, which functions scale where there is no FPU; measured on
    # a Cortex-M7 and an M0+.
    instructions_per_mac, of_block = 4.5, 450

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        scaling = 0 if "fpu" in view.features else cls.of_block / block_of(view.operator)
        return super().takes_per_mac(view, is_narrow) + scaling

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * _padded(block_of(view.operator), view.operator.bits))

    def call(self) -> Call:
        product = PackedProduct.of(self.view)
        padded = _padded(product.block, product.bits)
        fields = {
            "rows": product.rows,
            "depth": product.depth,
            "columns": product.columns,
            "bits": product.bits,
            "block": product.block,
            "words": padded * product.bits // WORD_BITS,
            "integer_bits": product.integer_bits,
        }
        return Call(
            "aidge_ref_matmul_nbits_float32",
            ("float32/matmul_nbits_float32.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", _words(product.weights, padded, product.bits)),
                Constant("scales", product.scales.reshape(-1)),
                Constant("zeros", product.zero_points.astype(numpy.uint8).reshape(-1)),
                Constant("bias", product.bias),
                Scratch(),
                Struct("aidge_ref_nbits_shape", fields),
            ),
        )


def _padded(block: int, bits: int) -> int:
    """Returns the elements of a block in whole words."""
    together = WORD_BITS // bits
    return -(-block // together) * together


def _words(weights: numpy.ndarray, padded: int, bits: int) -> numpy.ndarray:
    """Returns weights [blocks, columns, block] as words, the first number in the lowest bits."""
    padding = ((0, 0), (0, 0), (0, padded - weights.shape[2]))
    fields = numpy.pad(weights, padding).reshape(-1, WORD_BITS // bits).astype(numpy.uint32)
    return (fields << numpy.arange(0, WORD_BITS, bits, dtype=numpy.uint32)).sum(axis=1, dtype=numpy.uint32)
