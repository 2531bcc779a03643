# SPDX-License-Identifier: MIT
"""float32 products with packed weights of 4 and 8 bits: sums of bytes, 8 columns at a time."""

from __future__ import annotations

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.packed_product import Driver, PackedProduct, block_of, integer_bits, packed_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import MVE
from ..sums.packed_product import DIGITS, GROUP, LANES, Sums
from .row_blocks import quantizer

LONGEST_BLOCK = 128


def _other_bits(view: NodeView) -> str:
    return "" if view.operator.bits in (4, 8) else f"weights of {view.operator.bits} bits"


def _other_block(view: NodeView) -> str:
    block = block_of(view.operator)
    return "" if block % LANES == 0 and block <= LONGEST_BLOCK else f"blocks of {block}"


FORMS = (Predicate("4 or 8 bits", _other_bits), Predicate(f"blocks of whole vectors, at most {LONGEST_BLOCK}", _other_block))


@kernel("MatMulNBits", packed_spec(MVE, *FORMS))
class MatMulNBitsFloat32(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=_driver(view, "", "").scratch_bytes(view.operator.columns))

    def call(self) -> Call:
        product = PackedProduct.of(self.view)
        sums, (quantize, quantizer_text) = Sums.of(product), quantizer(product.integer_bits)
        driver = _driver(self.view, quantize, sums.name)
        name, text = driver.text(product)
        return Call(
            name,
            ("core/helium.h", "kit/row_blocks.h"),
            driver.arguments(product, sums.stream(product)),
            texts=(quantizer_text, sums.text(), text),
            facts=computed(f"1 row x {GROUP} columns"),
        )


def _driver(view: NodeView, quantize: str, multiply: str) -> Driver:
    digits = DIGITS if integer_bits(view.operator) else 1
    return Driver(quantize, multiply, "int8_t", "int8_t", GROUP, digits * block_of(view.operator))
