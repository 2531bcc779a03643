# SPDX-License-Identifier: MIT
"""float32 products with packed weights: sums of integers, 4 columns at a time."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.packed_product import Driver, PackedProduct, block_of, packed_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import GROUP, Loop
from ..core.float32 import FEATURES
from .packed_product import BLOCK_LEVELS, Sums, round_levels

LONGEST_BLOCK = 128
WHOLE_BLOCKS = 16


def _other_block(view: NodeView) -> str:
    block = block_of(view.operator)
    return "" if block % WHOLE_BLOCKS == 0 and block <= LONGEST_BLOCK else f"blocks of {block}"


BLOCKS = Predicate(f"blocks of a multiple of {WHOLE_BLOCKS}, at most {LONGEST_BLOCK}", _other_block)


@kernel("MatMulNBits", packed_spec(FEATURES, BLOCKS))
class MatMulNBitsFloat32(KernelNode):
    assembly = "needed"
    unroll = Loop(72, {"speed": 8, "balanced": 8, "size": 2})

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=_driver(view, "").scratch_bytes(view.operator.columns))

    def call(self) -> Call:
        product = PackedProduct.of(self.view)
        sums = Sums.of(product, self.unroll.steps(self.view))
        driver = _driver(self.view, sums.name)
        name, text = driver.text(product)
        return Call(
            name,
            ("sums/packed_product.h",),
            driver.arguments(product, sums.stream(product)),
            texts=(*((round_levels(), BLOCK_LEVELS) if sums.are_levels else ()), sums.text(), text),
            facts=computed(f"1 row x {GROUP} columns"),
        )


def _driver(view: NodeView, multiply: str) -> Driver:
    """The driver of a layer. The sums of a block are below 2^31 with integers of as many bits as its length leaves."""
    block = block_of(view.operator)
    driver = Driver("aidge_cortexm_block_levels", multiply, "int16_t", "int32_t", GROUP, 2 * block)
    if view.operator.multiplies_int8:
        return driver
    bits = 31 - (block - 1).bit_length()
    return replace(
        driver, quantize="aidge_cortexm_block_integers", element="int32_t", block_bytes=4 * block, last_argument=f", {bits}"
    )
