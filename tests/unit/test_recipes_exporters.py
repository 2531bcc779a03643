# SPDX-License-Identifier: MIT
"""What exporters write in a roundabout way: blocks by indices, transposed convolutions, weights scaled and scaled back."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.contract.reference import cpu
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.convolve_transposed import convolve_transposed
from aidge_build.prepare.recipes.replace_blocks import replace_blocks
from tests.models import graph, same_meaning, types

RANDOM = numpy.random.default_rng(7)


def indices_of(starts, counts, more=()) -> numpy.ndarray:
    """The tuples of all elements of a block, in their order."""
    found = numpy.stack(
        numpy.meshgrid(*(numpy.arange(start, start + count) for start, count in zip(starts, counts)), indexing="ij"), -1
    )
    return found.reshape(*more, *found.shape) if more else found


def scattered(indices: numpy.ndarray, updates: str, reduction: str = "none"):
    return graph(
        f'y = ScatterND<reduction="{reduction}">(x, i, u)',
        inputs=f"float[3,4,5] x, float[{updates}] u",
        outputs="float[3,4,5] y",
        constants={"i": indices},
        opset=18,
    )


def test_constant_updates_of_other_dims_than_the_block_stay_a_constant():
    before = graph(
        "y = ScatterND(x, i, u)",
        inputs="float[3,4,5] x",
        outputs="float[3,4,5] y",
        constants={"i": indices_of((1,), (1,)), "u": RANDOM.normal(size=(1, 4, 5)).astype(numpy.float32)},
        opset=18,
    )
    flat = graph(
        "y = ScatterND(x, i, u)",
        inputs="float[1,4,5] x",
        outputs="float[1,4,5] y",
        constants={"i": indices_of((0, 2), (1, 1), (1,)), "u": RANDOM.normal(size=(1, 1, 1, 5)).astype(numpy.float32)},
        opset=18,
    )
    for one in (before, flat):
        assert types(replace_blocks(one)) == ["Replace"] and same_meaning(one, replace_blocks(one))


@settings(max_examples=60)
@given(st.data())
def test_a_block_named_element_by_element_is_replaced(data):
    depth = data.draw(st.integers(1, 3))
    starts = [data.draw(st.integers(0, size - 1)) for size in (3, 4, 5)[:depth]]
    counts = [data.draw(st.integers(1, size - start)) for start, size in zip(starts, (3, 4, 5))]
    indices = indices_of(starts, counts)
    negative = data.draw(st.booleans())
    flat = data.draw(st.booleans())
    dims = [*([int(numpy.prod(counts))] if flat else counts), *(3, 4, 5)[depth:]]
    indices = indices.reshape(-1, depth) if flat else indices
    before = scattered(indices - numpy.array((3, 4, 5)[:depth]) * negative, ",".join(map(str, dims)))
    after = replace_blocks(before)
    is_whole = depth * [0] == starts and counts == [3, 4, 5][:depth]
    assert types(after)[-1] == ("Reshape" if is_whole else "Replace")
    assert is_whole or after.nodes[-1].operator.starts[:depth] == tuple(starts)
    assert same_meaning(before, after)


@pytest.mark.parametrize(
    "indices, updates, reduction",
    [
        (numpy.array([[0], [2]]), "2,4,5", "none"),  # not one behind the other
        (numpy.array([[1], [0]]), "2,4,5", "none"),  # in another order
        (numpy.array([[1], [1]]), "2,4,5", "none"),  # the last one counts
        (numpy.array([[0], [1]]), "2,4,5", "add"),
        (numpy.array([[0, 0], [0, 1], [1, 1]]), "3,5", "none"),  # no rectangle
        (numpy.array([[0, 0], [1, 0], [0, 1], [1, 1]]), "4,5", "none"),  # columns first
    ],
)
def test_other_indices_stay(indices, updates, reduction):
    assert types(replace_blocks(scattered(indices, updates, reduction))) == ["ScatterND"]


@pytest.mark.parametrize(
    "indices, kinds",
    [(2, ["Slice", "Reshape"]), (-1, ["Slice", "Reshape"]), ([1, 3], ["Slice"]), ([2, 1, 0], ["Slice"]), ([3], ["Slice"])],
)
def test_gathering_at_equal_distances_is_a_slice(indices, kinds):
    result = "float[3,5] y" if isinstance(indices, int) else f"float[3,{len(indices)},5] y"
    before = graph("y = Gather<axis=1>(x, i)", inputs="float[3,4,5] x", outputs=result, constants={"i": numpy.array(indices)})
    after = replace_blocks(before)
    assert types(after) == kinds and same_meaning(before, after)


@pytest.mark.parametrize("indices", [[0, 1, 3], [1, 1], [[0, 1], [1, 2]]])
def test_gathering_elsewhere_stays(indices):
    dims = ",".join(map(str, numpy.array(indices).shape))
    before = graph(
        "y = Gather<axis=1>(x, i)", inputs="float[3,4,5] x", outputs=f"float[3,{dims},5] y", constants={"i": numpy.array(indices)}
    )
    assert types(replace_blocks(before)) == ["Gather"]


def test_rows_of_a_constant_table_stay_a_gather():
    before = graph(
        "a = Gather(t, i) y = Add(a, x)",
        inputs="float[2,3] x, int64[2] i",
        outputs="float[2,3] y",
        constants={"t": RANDOM.normal(size=(4, 3)).astype(numpy.float32)},
    )
    assert replace_blocks(before) is before


@pytest.mark.parametrize("groups, outputs", [(1, 3), (2, 2), (4, 1), (4, 2)])
@pytest.mark.parametrize(
    "pads, dilations, more", [((0, 0, 0, 0), (1, 1), (0, 0)), ((2, 1, 3, 0), (2, 1), (0, 0)), ((1, 1, 0, 0), (1, 2), (0, 0))]
)
def test_a_transposed_convolution_that_skips_nothing_is_a_convolution(groups, outputs, pads, dilations, more):
    bias = RANDOM.normal(size=groups * outputs).astype(numpy.float32)
    before = graph(
        f"a = ConvTranspose<group={groups}, pads={list(pads)}, dilations={list(dilations)}>(x, w, b) y = Relu(a)",
        inputs="float[2,4,5,6] x",
        outputs=f"float[2,{groups * outputs},?,?] y",
        constants={"w": RANDOM.normal(size=(4, outputs, 3, 2)).astype(numpy.float32), "b": bias},
    )
    after = convolve_transposed(before)
    assert types(after) == ["ConvDepthWise2D" if (groups, outputs) == (4, 1) else "Conv2D", "ReLU"] and same_meaning(
        before, after, relative=1e-5
    )


@pytest.mark.parametrize(
    "attributes, weights", [("strides=[1,2]", ""), ("pads=[3,0,0,0]", ""), ("pads=[0,0,3,0]", ""), ("", "float[4,2,3,2] w")]
)
def test_one_that_skips_or_cuts_more_than_its_taps_reach_or_has_computed_weights_stays(attributes, weights):
    view = graph(
        f"y = ConvTranspose<{attributes}>(x, w)" if attributes else "y = ConvTranspose(x, w)",
        inputs=f"float[2,4,5,6] x{', ' + weights if weights else ''}",
        outputs="float[2,2,?,?] y",
        constants={} if weights else {"w": RANDOM.normal(size=(4, 2, 3, 2)).astype(numpy.float32)},
    )
    assert types(convolve_transposed(view)) == ["ConvTranspose2D"]


def test_a_layer_of_quantization_aware_training_whose_weights_were_scaled_and_scaled_back_is_one_in_integers():
    """PyTorch in eager mode: the weights are rounded as batch normalization will scale them, and the sums divided by that."""
    random = numpy.random.default_rng(3)
    channels, factors = (5, 3, 3, 3), random.uniform(0.3, 2, 5).astype(numpy.float32)
    constants = {
        "s": numpy.float32(0.02),
        "z": numpy.int8(3),
        "w": random.normal(size=channels).astype(numpy.float32),
        "sw": random.uniform(0.01, 0.03, 5).astype(numpy.float32),
        "zw": numpy.zeros(5, numpy.int8),
        "f": factors.reshape(1, 5, 1, 1),
        "g": random.uniform(0.5, 2, 5).astype(numpy.float32),
        "b": random.normal(size=5).astype(numpy.float32),
        "m": random.normal(size=5).astype(numpy.float32),
        "v": random.uniform(0.2, 2, 5).astype(numpy.float32),
        "t": numpy.float32(0.11),
        "zy": numpy.int8(-128),
    }
    view = graph(
        "r = DequantizeLinear(x, s, z) q = QuantizeLinear<axis=0>(w, sw, zw) u = DequantizeLinear<axis=0>(q, sw, zw)"
        " c = Conv(r, u) d = Div(c, f) n = BatchNormalization(d, g, b, m, v) a = Relu(n) y = QuantizeLinear(a, t, zy)",
        inputs="int8[1,3,9,9] x",
        outputs="int8[1,5,7,7] y",
        constants=constants,
    )
    after = simplify(view)
    assert types(after) == ["Conv2D"]
    given = {"x": random.integers(-128, 128, (1, 3, 9, 9)).astype(numpy.int8)}
    wanted, found = (cpu.run(each, given)["y"].astype(int) for each in (view, after))
    assert len(numpy.unique(wanted)) > 50 and numpy.count_nonzero(wanted != found) <= 1 and abs(wanted - found).max() <= 1
