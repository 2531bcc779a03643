# SPDX-License-Identifier: MIT
"""The recipe that leaves out channels which always have the same value: what goes, what stays, and that no output changes."""

from __future__ import annotations

import argparse
import os

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.build.compile import import_model
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.operators.activation import HardSwish, ReLU, Sigmoid
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.conv import Conv
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling, MaxPooling
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.softmax import Softmax
from aidge_build.operators.view import Flatten, Reshape, Transpose
from aidge_build.operators.window import Window
from aidge_build.prepare.recipes import channel_reach
from aidge_build.prepare.recipes.remove_constant_channels import remove_constant_channels
from tests.quantized_graphs import QuantizedGraph
from tests.shared import int8_model

POINTWISE = Conv(window=Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0)))
VECTORS = int(os.environ.get("AIDGE_CONSTANT_CHANNELS", "4"))  # the whole proof: 1000


def inputs_of(view: GraphView, count: int, seed: int = 0):
    """Random vectors, every second one of the two extreme values alone."""
    random = numpy.random.default_rng(seed)
    for index in range(count):
        values = {}
        for name in view.inputs:
            tensor = view.tensor(name)
            low, high = tensor.dtype.range
            levels = random.integers(low, high + 1, tensor.dims) if index % 2 else random.choice([low, high], tensor.dims)
            values[name] = levels.astype(tensor.dtype.numpy)
        yield values


def reduced(view: GraphView, count: int = 6) -> GraphView:
    """The graph after the recipe; its outputs, and the channels that it keeps of every tensor, are those of the graph before."""
    after = remove_constant_channels(view)
    for values in inputs_of(view, count):
        before, now = cpu.run(view, values), cpu.run(after, values)
        for name in view.outputs:
            assert numpy.array_equal(before[name], now[name])
        for name, reach in channel_reach.channel_reach(view).items():
            by_channel = numpy.moveaxis(before[name], 1, 0).reshape(len(reach.low), -1)
            assert (by_channel.min(axis=1) >= reach.low).all() and (by_channel.max(axis=1) <= reach.high).all()
    return after


def channels(view: GraphView, name: str) -> int:
    return view.tensor(name).dims[1]


def dead(count: int, *which: int, kind: int = 1) -> numpy.ndarray:
    kinds = numpy.zeros(count, int)
    kinds[list(which)] = kind
    return kinds


@pytest.mark.parametrize("kind", [1, -1, 2])
def test_a_pointwise_layer_folds_constant_channels_into_its_bias(kind):
    net = QuantizedGraph((1, 3, 5, 4))
    middle = net.convolution("x", 12, 3, pad=1, dead=dead(12, 1, 3, 6, 11, kind=kind))
    result = net.convolution(middle, 5, per_channel=True)
    after = reduced(net.view(result))
    assert channels(after, middle) == 8 and after.nodes[1].operator.window.kernel == (1, 1)
    assert after.tensor(middle).kept.channels == (0, 2, 4, 5, 7, 8, 9, 10) and after.tensor(middle).kept.count == 12
    assert channels(after, result) == 5 and after.tensor(result).kept is None


def test_a_layer_without_bias_gets_one_for_what_it_folds():
    net = QuantizedGraph((1, 3, 5, 4))
    middle = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3))
    after = reduced(net.view(net.convolution(middle, 4, with_bias=False, per_channel=True)))
    assert channels(after, middle) == 4 and len(after.nodes[1].inputs) == 3


def test_a_convolution_with_pads_folds_only_the_zero_point():
    """At the border the pad takes the place of the constant: any other constant would differ there."""
    for kind, zero_point, left in ((1, 4, 8), (-1, -128, 4), (1, 127, 4), (-1, 4, 8)):
        net = QuantizedGraph((1, 3, 5, 4))
        middle = net.convolution("x", 8, dead=dead(8, 0, 2, 5, 7, kind=kind), zero_point=zero_point)
        after = reduced(net.view(net.convolution(middle, 4, 3, pad=1)))
        assert channels(after, middle) == left, (kind, zero_point)


def test_a_convolution_without_pads_folds_every_constant():
    net = QuantizedGraph((1, 3, 5, 4))
    middle = net.convolution("x", 8, dead=dead(8, 0, 2, 5, 7))
    assert channels(reduced(net.view(net.convolution(middle, 4, 3, stride=2))), middle) == 4


def test_a_depthwise_layer_drops_channels_on_both_sides():
    net = QuantizedGraph((1, 3, 6, 6))
    first = net.convolution("x", 12, dead=dead(12, 0, 1, kind=-1), low=0.0, zero_point=-128)
    second = net.convolution(first, 12, 3, pad=1, depthwise=True, per_channel=True, dead=dead(12, 4, 5))
    after = reduced(net.view(net.convolution(second, 4)))
    assert channels(after, first) == channels(after, second) == 8
    assert after.nodes[1].operator.groups == 8 and after.nodes[1].operator.depthwise


def test_a_depthwise_layer_keeps_a_constant_that_the_border_changes():
    net = QuantizedGraph((1, 3, 6, 6))
    first = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3))
    second = net.convolution(first, 8, 3, pad=1, depthwise=True)
    assert channels(reduced(net.view(net.convolution(second, 4))), first) == 8


def test_channels_that_only_removed_channels_read_go_too():
    net = QuantizedGraph((1, 3, 6, 6))
    first = net.convolution("x", 16)
    weights = net.random.integers(-128, 128, (16, 16, 1, 1))
    weights[4:, 4:] = 0  # channels 4 to 15 of the input are read by nobody but ...
    weights[0, 8:] = 99  # ... a channel that is constant
    weights[1:4, 4:] = 0
    bias = dead(16, 0) << 24
    second = net.linear(POINTWISE, first, weights, bias)
    after = reduced(net.view(net.convolution(second, 4)))
    assert channels(after, first) == 4


def test_both_sides_of_an_add_drop_what_is_constant_in_the_sum():
    net = QuantizedGraph((1, 3, 5, 5))
    first = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3, 4))
    second = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3, 5))
    total = net.add(Add(), first, second, scale=0.5, zero_point=1)
    after = reduced(net.view(net.convolution(total, 4)))
    assert channels(after, first) == channels(after, second) == channels(after, total) == 4


@pytest.mark.parametrize(
    "operator",
    [
        ReLU(),
        Sigmoid(),
        HardSwish(),
        MaxPooling(window=Window((2, 2), (1, 1), (1, 1), (1, 0), (0, 1))),
        AvgPooling(window=Window((2, 2), (2, 2), (1, 1), (0, 0), (0, 0))),
        GlobalAveragePooling(),
    ],
    ids=str,
)
def test_operators_that_keep_channels_apart_pass_constants_on(operator):
    net = QuantizedGraph((1, 3, 6, 6))
    first = net.convolution("x", 8, dead=dead(8, 1, 3, 5, 7))
    second = net.add(operator, first, scale=0.2, zero_point=-5)
    after = reduced(net.view(net.convolution(second, 4)))
    assert channels(after, first) == channels(after, second) == 4


def test_an_average_that_counts_pads_is_not_constant_at_the_border():
    net = QuantizedGraph((1, 3, 6, 6))
    first = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3))
    second = net.add(
        AvgPooling(window=Window((3, 3), (1, 1), (1, 1), (1, 1), (1, 1)), count_include_pad=True), first, scale=0.3, zero_point=4
    )
    assert channels(reduced(net.view(net.convolution(second, 4))), first) == 8


def test_constants_beside_an_operator_keep_the_values_of_the_channels_that_are_left():
    net = QuantizedGraph((1, 3, 6, 6))
    first = net.convolution("x", 8, dead=dead(8, 1, 3, 5, 7))
    for operator, shape in ((Mul(), (8, 1, 1)), (Sub(), (1, 8, 1, 1)), (Add(), (1, 1, 1)), (Add(), ())):
        side = net.constant(net.random.integers(-128, 128, shape).astype(numpy.int8), net.tensors[first].quantization)
        first = net.add(operator, first, side, scale=0.9, zero_point=0)
    after = reduced(net.view(net.convolution(first, 4)))
    assert channels(after, first) == 4
    assert [after.tensor(node.inputs[1]).dims for node in after.nodes[1:5]] == [(4, 1, 1), (1, 4, 1, 1), (1, 1, 1), ()]


@pytest.mark.parametrize("view", [Flatten(), Reshape((2, 8 * 6))])
def test_a_fully_connected_layer_drops_all_features_of_a_channel(view):
    net = QuantizedGraph((2, 3, 3, 2))
    first = net.convolution("x", 8, dead=dead(8, 1, 3, 5, 7))
    flat = net.add(view, first)
    hidden = net.fully_connected(flat, 12, dead=dead(12, 2, 3, 4, 5))
    after = reduced(net.view(net.fully_connected(hidden, 3)))
    assert channels(after, first) == 4 and channels(after, flat) == 24 and channels(after, hidden) == 8


def test_channels_of_joined_tensors_are_told_apart():
    net = QuantizedGraph((1, 3, 4, 4))
    first, second = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3)), net.convolution("x", 12, dead=dead(12, 8, 9, 10, 11))
    both = net.add(Concat(1), first, second, scale=0.4, zero_point=9)
    after = reduced(net.view(net.convolution(both, 4)))
    assert (channels(after, first), channels(after, second), channels(after, both)) == (4, 8, 12)


@pytest.mark.parametrize("operator", [Softmax(1), Transpose((0, 2, 3, 1)), Concat(2)], ids=str)
def test_operators_that_are_not_understood_keep_all_channels(operator):
    net = QuantizedGraph((1, 3, 4, 4))
    first = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3))
    inputs = (first, first) if isinstance(operator, Concat) else (first,)
    result = net.add(operator, *inputs, **({"scale": 1 / 256, "zero_point": -128} if isinstance(operator, Softmax) else {}))
    view = net.view(result)
    assert reduced(view) is view


def test_graph_outputs_keep_their_channels_and_word_sizes_are_kept_whole():
    net = QuantizedGraph((1, 3, 4, 4))
    first = net.convolution("x", 10, dead=dead(10, 0, 1, 2))
    result = net.convolution(first, 6, dead=dead(6, 0, 1))
    after = reduced(net.view(result))
    assert channels(after, first) == 8 and channels(after, result) == 6
    view = net.view(first)
    assert remove_constant_channels(view) is view


def test_a_layer_of_which_nothing_is_left_keeps_one_word_of_constants():
    net = QuantizedGraph((1, 3, 4, 4))
    first = net.convolution("x", 8, dead=dead(8, *range(8)))
    after = reduced(net.view(net.convolution(first, 4)))
    assert channels(after, first) == 4 and not after.tensor(after.nodes[0].inputs[1]).data.any()


def test_a_graph_without_constant_channels_stays_as_it_is():
    net = QuantizedGraph((1, 3, 4, 4))
    view = net.view(net.convolution(net.convolution("x", 8, 3, pad=1), 4))
    assert remove_constant_channels(view) is view


def random_network(seed: int) -> GraphView:
    """Layers, pools and sums in a random order, a third of all channels dead."""
    random = numpy.random.default_rng(seed)
    net = QuantizedGraph((int(random.integers(1, 3)), int(random.integers(1, 5)), 5, 6), seed, int(random.choice([-128, 0, 9])))
    at = ["x"]
    for _ in range(int(random.integers(2, 7))):
        data, kinds = str(random.choice(at)), [-1, 0, 0, 1, 2]
        count, size = int(random.integers(1, 18)), net.dims(data)
        common = {
            "zero_point": int(random.choice([-128, -4, 127])),
            "per_channel": bool(random.integers(2)),
            "with_bias": bool(random.integers(6)),
        }
        match random.integers(7):
            case 0 | 1:
                at.append(
                    net.convolution(
                        data, count, dead=random.choice(kinds, count), low=float(random.choice([-numpy.inf, 0])), **common
                    )
                )
            case 2:
                kernel = int(random.choice([1, 3]))
                at.append(net.convolution(data, count, kernel, pad=kernel // 2, dead=random.choice(kinds, count), **common))
            case 3 if size[1] > 1:
                at.append(net.convolution(data, size[1], 3, pad=1, depthwise=True, dead=random.choice(kinds, size[1]), **common))
            case 4:
                others = [name for name in at if net.dims(name) == size]
                operator = (Add(), Sub(), Mul())[int(random.integers(3))]
                at.append(
                    net.add(operator, data, str(random.choice(others)), scale=0.3, zero_point=int(random.integers(-128, 128)))
                )
            case 5:
                at.append(net.add(Concat(1), data, str(random.choice(at)), scale=0.2, zero_point=int(random.integers(-128, 128))))
            case _:
                at.append(net.add(MaxPooling(window=Window((3, 3), (1, 1), (1, 1), (1, 1), (1, 1))), data))
    flat = net.add(Flatten(), at[-1])
    return net.view(net.fully_connected(flat, 3), *at[1:-2:3])


@settings(max_examples=40)
@given(seed=st.integers(0, 1 << 32))
def test_random_networks_with_dead_channels_keep_their_outputs(seed):
    reduced(random_network(seed), count=4)


def test_visual_wake_words_loses_most_of_its_channels_and_no_output():
    """AIDGE_CONSTANT_CHANNELS=1000 compares 1,000 random inputs instead of a few."""
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    path = str(int8_model("vww_mobilenet025"))
    with_all, without = (
        import_model(load(parser.parse_args([path, "--constant-channels", choice]), "vww"))[0] for choice in ("off", "on")
    )
    layers = [node for node in without.nodes if node.type in ("Conv2D", "ConvDepthWise2D", "FC")]
    assert sum(without.tensor(node.outputs[0]).removed_channels for node in layers) >= 1651
    assert not any(tensor.kept for tensor in with_all.tensors.values())
    for values in inputs_of(with_all, VECTORS, seed=7):
        one, two = cpu.run(with_all, values), cpu.run(without, values)
        assert all(numpy.array_equal(one[name], two[name]) for name in with_all.outputs)


@pytest.mark.parametrize("length, narrowed", [(100, True), (101, False)])
def test_nothing_is_evaluated_on_tensors_that_would_take_a_lot_of_memory(monkeypatch, length, narrowed):
    monkeypatch.setattr(channel_reach, "MOST_ELEMENTS", 200)
    graph = QuantizedGraph((1, 2, length, 1))
    lowest = graph.constant(numpy.array([[[[-128]], [[-128]]]], numpy.int8), graph.tensors["x"].quantization)
    name = graph.add(Add(), "x", lowest, zero_point=0)
    high = channel_reach.channel_reach(graph.view(name))[name].high
    assert (high < 127).all() if narrowed else (high == 127).all()


def test_a_view_across_the_batch_and_a_sum_of_other_ranks_keep_all_channels():
    net = QuantizedGraph((2, 3, 4, 4))
    middle = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3))
    across = net.add(Reshape((1, 16, 4, 4)), middle)
    assert channels(reduced(net.view(net.convolution(across, 4))), middle) == 8
    assert channel_reach.split_and_joined(net.tensors[middle], net.tensors[across]) == (0, 0)
    net = QuantizedGraph((1, 3, 8, 8))
    middle = net.convolution("x", 8, dead=dead(8, 0, 1, 2, 3))
    flat = net.add(Reshape((8, 8, 8)), middle)
    total = net.add(Add(), middle, flat, scale=0.3, zero_point=0)
    assert channels(reduced(net.view(net.convolution(total, 4))), middle) == 8


@pytest.mark.parametrize(
    "before, after, expected",
    [
        ((1, 4, 6), (1, 8, 3), (2, 1)),
        ((1, 8, 3), (1, 4, 6), (1, 2)),
        ((1, 4, 6), (1, 4, 2, 3), (1, 1)),
        ((1, 4, 6), (1, 6, 4), (0, 0)),
        ((2, 4, 6), (1, 8, 6), (0, 0)),
    ],
)
def test_a_view_splits_channels_or_joins_them_or_does_neither(before, after, expected):
    data, output = (Tensor("t", dims, DType.int8) for dims in (before, after))
    assert channel_reach.split_and_joined(data, output) == expected


@pytest.mark.parametrize(("room", "low"), [(127 * (128 + 3), -128), (127 * (128 + 3) + 1, 127)])
def test_a_layer_whose_sums_might_not_fit_has_no_reach(room, low):
    """The zero point of x is -3: sums with the part of the zero point may be 127 * 131 larger than the bias."""
    net = QuantizedGraph((1, 1, 2, 2))
    weights = numpy.full((4, 1, 1, 1), 127)
    result = net.linear(POINTWISE, "x", weights, numpy.full(4, (1 << 31) - room))
    found = channel_reach.channel_reach(net.view(result))[result]
    assert (found.low.tolist(), found.high.tolist()) == ([low] * 4, [127] * 4)


def test_a_sum_with_a_tensor_without_channels_and_a_layer_with_computed_weights_keep_all_channels():
    net = QuantizedGraph((1, 4, 1, 4))
    middle = net.convolution("x", 4, dead=dead(4, 0, 1, 2, 3))
    vector = net.add(Reshape((4,)), net.add(MaxPooling(window=Window((1, 4), (1, 1), (1, 1), (0, 0), (0, 0))), middle))
    total = net.add(Add(), middle, vector, scale=0.3, zero_point=0)
    weights = net.add(Reshape((4, 4, 1, 1)), middle)
    result = net.add(POINTWISE, total, weights, scale=0.3, zero_point=0)
    assert channels(reduced(net.view(result)), middle) == 4


def test_what_is_no_channel_is_left_alone():
    flat = Tensor("t", (4,), DType.int8, quantization=per_tensor(0.1, 0))
    by_channel = Tensor("t", (1, 2), DType.int8, quantization=Quantization((0.1, 0.2), (0, 0), 1))
    assert [channel_reach.has_channels(tensor) for tensor in (None, flat, by_channel, flat.with_(dims=(1, 4)))] == [
        False,
        False,
        False,
        True,
    ]
    assert not channel_reach.has_channels(flat.with_(dims=(1, 0))) and not channel_reach.has_channels(
        flat.with_(dims=(1, 4), quantization=None)
    )


def test_channels_that_a_view_joins_reach_what_any_of_them_reaches():
    reach = channel_reach.Reach(numpy.array([-5, 2, 0, 7]), numpy.array([1, 3, 4, 9]))
    seen = {}
    for count, dims in ((2, (1, 2, 6)), (4, (1, 4, 3, 1)), (8, (1, 8, 1)), (3, (1, 3, 4))):
        tensors = (Tensor(str(dims), dims, DType.int8, quantization=per_tensor(0.1, 0)) for dims in ((1, 4, 3), dims))
        found = channel_reach._reach_of_view(*tensors, reach)
        seen[count] = list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    four = [(-5, 1), (2, 3), (0, 4), (7, 9)]
    assert seen == {2: [(-5, 3), (0, 9)], 4: four, 8: [ends for ends in four for _ in range(2)], 3: [(-128, 127)] * 3}
