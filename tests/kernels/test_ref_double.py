# SPDX-License-Identifier: MIT
"""The kernels of `ref` for the contract of TensorFlow Lite's reference kernels, on random shapes against their numpy meaning."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from harness import Case, case, differing, run, under_double
from random_tensors import Randomness, halfword_weights
from test_ref_elementwise import binary_cases
from test_ref_linear import EDGES, int8_case, random_edge
from test_ref_pools_and_moves import pools

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.matmul import FC
from aidge_build.operators.pool import AvgPooling, GlobalMaxPooling, MaxPooling
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.softmax import Softmax
from aidge_build.operators.window import Window


def test_convolutions_equal_the_meaning_on_edge_and_random_shapes():
    shapes = [*EDGES, *filter(None, map(random_edge, range(2000, 2060)))]
    cases = [under_double(int8_case(seed, *shape)) for seed, shape in enumerate(shapes)]
    names = ("conv2d_int8_fixed", "conv2d_int8_fixed_copied", "depthwise_int8_fixed", "fc_int8_fixed")
    assert {entry.call.function for entry in cases} == {f"aidge_ref_{name}" for name in names}
    assert differing(cases, run(cases)) == []


def test_convolutions_over_three_axes_or_with_int16_weights_equal_the_meaning():
    planes = [(1, 3, (3, 4, 5), 4, (2, 3, 2), 1, 1, (1, 1), 1), (2, 4, (5, 4, 3), 6, (3, 2, 1), 2, 1, (1, 0), 2)]
    cases = [under_double(int8_case(seed, *shape)) for seed, shape in enumerate(planes)]
    wide = []
    for seed, shape in enumerate(EDGES[:8]):
        entry = under_double(int8_case(seed, *shape))
        inputs = halfword_weights(seed, *entry.view.inputs)
        output = entry.view.outputs[0].quantization
        wide.append(case(entry.view.operator, inputs, entry.values[:1], quantization=output))
    assert {entry.kernel.name for entry in cases} == {"linear"}
    assert differing([*cases, *wide], run([*cases, *wide])) == []
    assert {entry.call.function for entry in wide} == {"aidge_ref_linear_double_wide"}


def test_fully_connected_layers_are_rounded_once():
    cases = []
    for seed in range(12):
        random = Randomness(seed)
        count, outputs = random.integer(1, 40), random.integer(1, 20)
        data, weights = random.data(random.integer(1, 3), count), random.weights(outputs, count)
        quantization = random.quantization(0.05 * 0.01 * 50 * count**0.5)
        entry = case(FC(), [data, weights, random.bias(outputs)], [random.int8(*data.dims)], quantization=quantization)
        cases.append(under_double(entry))
    assert differing(cases, run(cases)) == []


@pytest.mark.parametrize("operator", [Add, Sub, Mul])
def test_sums_and_products_equal_the_meaning_with_any_broadcasting(operator):
    cases = [under_double(entry) for entry in binary_cases((operator,), 20)]
    assert differing(cases, run(cases)) == []


def averages_of_windows(make):
    """Made by `make` of a harness."""
    for seed in range(3):
        random = Randomness(seed)
        for dims, operator in pools(random):
            if "Av" in operator.type and len(dims) < 5 and not getattr(operator, "count_include_pad", False):
                data = random.data(*dims)
                yield under_double(make(operator, [data], [random.int8(*data.dims)], quantization=data.quantization))


def test_averages_of_windows_round_halves_away_from_zero():
    cases = list(averages_of_windows(case))
    assert len(cases) > 20 and differing(cases, run(cases)) == []


def test_a_mean_that_counts_pads_has_no_meaning_here():
    data = Randomness(0).data(1, 2, 5, 5)
    operator = AvgPooling(window=Window((2, 2), (1, 1), (1, 1), (1, 1), (0, 0)), count_include_pad=True)
    entry = under_double(case(operator, [data], [Randomness(0).int8(*data.dims)], quantization=data.quantization))
    with pytest.raises(AidgeError, match="counts pads"):
        assert entry.expected is None
    with pytest.raises(AssertionError, match="pads count"):
        assert entry.kernel is None


def test_maxima_of_int16_equal_the_meaning():
    cases = []
    for seed in range(12):
        random = Randomness(600 + seed)
        size, step, pad = random.choice(1, 2, 3), random.choice(1, 2), random.choice(0, 1)
        window = Window((size,) * 2, (step,) * 2, (random.choice(1, 2),) * 2, (pad,) * 2, (pad,) * 2)
        data = Tensor("x", (random.choice(1, 2), random.choice(2, 3, 8), 6, 7), DType.int16, quantization=per_tensor(1e-3, 0))
        values = random.numbers.integers(-32768, 32768, data.dims).astype(numpy.int16)
        operator = MaxPooling(window=window) if seed % 4 else GlobalMaxPooling()
        cases.append(case(operator, [data], [values], quantization=data.quantization))
    assert differing(cases, run(cases)) == []


def test_means_of_axes_equal_the_meaning():
    cases = []
    for seed in range(16):
        random = Randomness(seed)
        data = random.data(random.integer(1, 2), random.integer(1, 9), random.integer(1, 7), random.integer(1, 7))
        axes = random.choice((2, 3), (1,), (3,), (1, 2, 3))
        operator = ReduceMean(axes, bool(random.integer(0, 1)) or len(axes) == 1)
        cases.append(under_double(case(operator, [data], [random.int8(*data.dims)], quantization=random.quantization(0.1))))
    assert differing(cases, run(cases)) == []


def test_softmax_equals_the_meaning():
    cases = []
    for seed in range(10):
        random = Randomness(seed)
        data = random.data(random.integer(1, 4), random.integer(1, 40))
        entry = case(Softmax(-1), [data], [random.int8(*data.dims)], quantization=Quantization((1 / 256,), (-128,)))
        cases.append(under_double(entry))
    assert differing(cases, run(cases)) == []


def with_scale(entry: Case, scale: float) -> Case:
    output = entry.view.outputs[0].with_(quantization=Quantization((scale,), (3,), rounding="double"))
    return type(entry)(replace(entry.view, outputs=(output,)), entry.values)


def test_large_output_scales_leave_the_zero_point():
    cases = [with_scale(int8_case(1, *EDGES[1]), scale) for scale in (2.0**-8, 2.0**10, 2.0**40)]
    assert differing(cases, run(cases)) == []
    assert (cases[-1].expected[0] == 3).all()


def test_what_could_leave_int32_when_it_is_shifted_is_refused():
    random = Randomness(0)
    data = random.data(1, 4, 3, 3)
    first, second = random.data(2, 3, name="a"), random.data(2, 3, name="b")
    values = [random.int8(2, 3), random.int8(2, 3)]
    cases = [
        int8_case(1, *EDGES[1]),
        *(case(operator, [first, second], values, quantization=first.quantization) for operator in (Add(), Mul())),
        case(ReduceMean((2, 3), True), [data], [random.int8(*data.dims)], quantization=data.quantization),
        case(Softmax(-1), [first], values[:1], quantization=first.quantization),
    ]
    for entry in cases:
        with pytest.raises(AssertionError, match="could leave int32"):
            assert with_scale(entry, 2.0**-40).kernel is None
