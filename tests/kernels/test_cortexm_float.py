# SPDX-License-Identifier: MIT
"""float32 layers of `cortexm` against their numpy meaning, within 1e-5 of the largest value."""

from __future__ import annotations

import shutil

import pytest
from cortexm_harness import BOARD, accepted, case, run
from float_cases import DEPTHWISE, EDGES, ROWS, convolution, depthwise, fully_connected
from harness import under
from random_tensors import Randomness
from stored_products import products_with_bytes, seen_products, stored_products

from aidge_build.operators.matmul import MatMul

pytestmark = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")

# channels, outputs of each, spatial, kernel, stride, pads (begin, end)
MULTIPLIED = [
    (16, 2, (5, 6), (3, 3), 1, (1, 1)),
    (3, 3, (7, 5), (3, 3), 2, (1, 0)),
    (9, 2, (6, 6), (5, 3), 1, (2, 1)),
    (2, 32, (9,), (3,), 2, (0, 1)),
    (8, 5, (4, 4), (1, 1), 1, (0, 0)),
]
# Rows and columns left over, batches that repeat.
PRODUCTS = [
    ((1, 5), (5, 4)),
    ((3, 5), (5, 8)),
    ((9, 4), (4, 7)),
    ((2, 3, 6, 5), (3, 5, 9)),
    ((4, 2), (3, 2, 5)),
    ((7, 33), (33, 6)),
]


def multiplied_cases():
    """Depthwise layers with several outputs per channel."""
    for seed, (channels, several, spatial, kernel, stride, pads) in enumerate(MULTIPLIED):
        outputs = channels * several
        yield convolution(case, seed, 1 + seed % 2, channels, spatial, outputs, kernel, stride, 1, pads, channels)


def candidates():
    yield from multiplied_cases()
    for seed, shapes in enumerate(PRODUCTS):
        random = Randomness(seed)
        sides = [random.real(*dims, name=name) for dims, name in zip(shapes, "ab")]
        yield case(MatMul(), sides, [random.float32(*dims) for dims in shapes])
    yield from accepted([*stored_products(case), *products_with_bytes(case), *seen_products(case)])
    for made, shapes in ((depthwise, DEPTHWISE), (convolution, EDGES), (fully_connected, ROWS)):
        yield from (made(case, seed, *shape) for seed, shape in enumerate(shapes * 2))


def test_a_depthwise_layer_with_several_outputs_per_channel_is_computed_as_one():
    for entry in multiplied_cases():
        assert entry.call.function.startswith("aidge_cortexm_depthwise_layer_float32"), entry.view.node


def test_columns_stored_in_one_piece_are_copied_to_rows_for_more_than_three_rows():
    many = [entry for entry in stored_products(case) if entry.view.outputs[0].dims[-2:] in ((5, 6), (4, 4))]
    assert len(many) == 4
    for entry in many:
        with pytest.raises(AssertionError, match="rows with columns stored in one piece, wants at most 3"):
            assert entry.kernel


@pytest.mark.parametrize("flags", [(), ("-O0",), ("-O3", "-flto")], ids=["usual", "unoptimized", "lto"])
def test_float_layers_are_within_tolerance_on_the_emulated_core(flags):
    assert run(under(flags, list(candidates())), *flags, board=BOARD) == []
