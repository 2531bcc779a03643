# SPDX-License-Identifier: MIT
"""int8 Resize by weights of `ref` and `helium`: the C against its numpy meaning, and that against real numbers."""

from __future__ import annotations

import dataclasses
import functools
import os
import re

import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, accepted, taken, without_fpu
from helium_harness import needs_emulator
from random_tensors import Randomness

from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.kernel_kit.resample_lanes import Even
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import dequantize
from aidge_build.operators.resampling import shares_of
from aidge_build.operators.resize import COORDINATES, Resize
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.match import Target
from tests.quantized_graphs import QuantizedGraph

STRESS = bool(os.environ.get("AIDGE_STRESS"))
DIMS = ((1, 9, 4, 5), (2, 3, 6, 3), (1, 2, 7), (5, 3), (1, 4, 2, 3, 4), (1, 1, 1, 1))
PLAIN = tuple(known for known in COORDINATES if known != "tf_crop_and_resize")


def resized(random, dims):
    result = tuple(
        size if axis < 2 and random.integer(0, 3) else max(1, size * random.integer(1, 6) // random.choice(1, 2, 3))
        for axis, size in enumerate(dims)
    )
    scales = tuple(new / old for new, old in zip(result, dims))
    mode = random.choice("linear", "linear", "cubic")
    if random.integer(0, 4) == 0:
        ends = tuple(random.choice(0.0, -0.25) for _ in dims), tuple(random.choice(1.0, 1.25, 0.75) for _ in dims)
        return Resize(result, scales, mode, "tf_crop_and_resize", extrapolation=1.5, begin=ends[0], end=ends[1])
    return Resize(result, scales, mode, random.choice(*PLAIN), antialias=random.integer(0, 3) == 0)


def cases(count, case=harness.case):
    found = []
    for seed in range(count):
        random = Randomness(seed)
        dims = DIMS[seed % len(DIMS)]
        form = random.choice(row_major, channels_last)(len(dims))
        scale, points = random.choice(0.05, 0.02, 0.0235294), [random.choice(-128, 0, 3, 127) for _ in range(2)]
        data = Tensor("x", dims, DType.int8, quantization=per_tensor(scale, points[0]), format=form)
        output = per_tensor(random.choice(scale, 0.031, 2 * scale), points[1])
        operator, values = resized(random, dims), random.numbers.integers(-128, 128, dims).astype(numpy.int8)
        entry = case(operator, [data], [values], quantization=output, format=form)
        if operator.in_integers(data, entry.view.outputs[0]) is not None:
            found.append(entry)
    return found


class CaseWithFpu(harness.Case):
    features = frozenset({"fpu"})


@pytest.mark.parametrize("flags", [("-std=c99", "-O2"), ("-Os",)][: 1 + STRESS], ids=" ".join)
def test_weighted_resizes_equal_the_meaning_with_an_fpu_and_without(flags):
    count = 150 if STRESS else 50
    without = cases(count)
    both = [*without, *(CaseWithFpu(entry.view, entry.values) for entry in without)]
    assert len(without) > 0.8 * count
    assert {entry.call.function for entry in both} >= {"aidge_ref_resample_int8", "aidge_ref_resample_int8_near"}
    assert harness.differing(both, harness.run(both, *flags)) == []


def linear_images(count, case):
    """Images in channels last, linear along both axes, sums within 16 bits: of one scale and of two."""
    for seed in range(count):
        random = Randomness(1000 + seed)
        sizes = random.integer(1, 5), random.integer(1, 6)
        dims = (random.choice(1, 1, 2), random.choice(4, 8, 12, 20) if seed % 3 else random.choice(1, 3, 5, 6, 7, 13), *sizes)
        by = [random.choice(2, 4, 8, 3, 5, 1) for _ in sizes]
        result = (*dims[:2], *(size * factor for size, factor in zip(sizes, by)))
        points = [random.integer(-128, 127) for _ in range(2)]
        scale = random.choice(0.05, 0.02)
        same = seed % 3 > 0
        data = Tensor("x", dims, DType.int8, quantization=per_tensor(scale, points[0]), format=channels_last(4))
        output = data.quantization if same else per_tensor(scale * random.choice(0.37, 1.9, 2), points[1])
        values = random.int8(*dims)
        operator = Resize(result, (1.0, 1.0, *map(float, by)), "linear", random.choice("half_pixel", "asymmetric"))
        yield case(operator, [data], [values], quantization=output, format=channels_last(4))


def test_two_sums_in_a_register_equal_the_meaning():
    found = list(linear_images(120 if STRESS else 48, harness.case))
    assert {entry.call.function.rpartition("_")[2] for entry in found} >= {"even", "scaled"}
    assert harness.differing(found, harness.run(found)) == []


class NarrowCase(helium_harness.Case):
    library_name, features = "ref", frozenset({"narrow"})


@needs_emulator
def test_words_and_bytes_equal_the_meaning_on_a_core_that_reads_words_at_whole_addresses_alone():
    found = [NarrowCase(entry.view, entry.values) for entry in linear_images(120 if STRESS else 24, harness.case)]
    assert {entry.call.function.rpartition("_")[2] for entry in found} >= {"even", "scaled"}
    assert {entry.view.inputs[0].dims[1] % 4 == 0 for entry in found} == {True, False}
    assert helium_harness.run(found, board="rp2040") == []


@functools.cache
def cortexm_images():
    count = 240 if STRESS else 60
    return taken([*linear_images(count, cortexm_harness.case), *planes(count, cortexm_harness.case)])


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS])
def test_cortexm_gives_the_same(flags):
    found = cortexm_images()
    names = {entry.call.function for entry in found}
    for way in ("lanes_even", "_turned", "lanes_floats", "lanes_line_4", "lanes_line_0"):
        assert any(way in name for name in names), way
    assert {name.endswith("_odd") for name in names} == {True, False}
    assert cortexm_harness.run(harness.under(flags, found), *flags, board=BOARD) == []


@needs_emulator
def test_without_an_fpu_it_gives_the_same():
    found = without_fpu(cortexm_images())
    assert {entry.kernel.name for entry in found} == {"resample_lanes_int8"}
    assert cortexm_harness.run(found, "-Wall", "-Wextra", "-Werror", board=BOARD_WITHOUT_FPU) == []


def planes(count, case, mode="linear"):
    """Images in row-major order, and lines: neighbours are gathered; denominators whose product needs more than 16 bits, too."""
    for seed in range(count):
        random = Randomness(2000 + seed)
        sizes = tuple(random.integer(2, 12) for _ in range(random.choice(1, 2, 2)))
        channels, form = random.choice((3, row_major), (5, channels_last), *2 * ((11, channels_last),))
        dims = (random.choice(1, 2), channels, *sizes)
        result = (*dims[:2], *(size * random.choice(2, 3, 4) // random.choice(1, 2) for size in sizes))
        scales = tuple(new / old for new, old in zip(result, dims))
        data = Tensor("x", dims, DType.int8, quantization=per_tensor(0.05, random.integer(-128, 127)), format=form(len(dims)))
        output = data.quantization if seed % 2 else per_tensor(0.05 * random.choice(0.37, 1.9), random.integer(-128, 127))
        operator = Resize(result, scales, mode, random.choice("half_pixel", "align_corners", "align_corners"))
        if mode == "linear" or operator.in_integers(data, data):
            yield case(operator, [data], [random.int8(*dims)], quantization=output, format=form(len(dims)))


@functools.cache
def helium_images():
    count = 160 if STRESS else 30
    linear = [*linear_images(count, helium_harness.case), *planes(2 * count, helium_harness.case)]
    return [*linear, *planes(2 * count, helium_harness.case, "cubic")]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_helium_images_are_the_same(flags):
    found = helium_images()
    names = {entry.call.function for entry in found}
    for way in ("gathered", "runs"):
        for form in (r"even_\d+(_turned)?_2_16_16", "float_2_16_16", r"float_\d_16_32", r"float_4_32_32"):
            assert any(re.match(f"aidge_helium_resample_{way}_{form}_of_", name) for name in names), (way, form)
    assert helium_harness.run(harness.under(flags, found), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_ties_go_to_the_even_value_for_every_zero_point_of_one_scale():
    """The bits of the sum tell which one it is, or the other way round."""
    found = set()
    for point in (-128, -3, 0, 5, 127):
        data = Tensor("x", (1, 4, 3, 3), DType.int8, quantization=per_tensor(0.1, point))
        operator = Resize((1, 4, 6, 6), (1.0, 1.0, 2.0, 2.0), "linear")
        entry = harness.case(operator, [data], [numpy.zeros(data.dims, numpy.int8)], quantization=data.quantization)
        assert Even.of(entry.view) == Even.of_means(entry.view)
        found.add(Even.of(entry.view))
    assert found == {Even(7, 4, False), Even(7, 4, True)}


@functools.cache
def candidates():
    """For the tests of all kernels."""
    return [*cases(40, helium_harness.case), *cortexm_images(), *helium_images()[::5]]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_helium_gives_the_same(flags):
    assert helium_harness.run(cases(40, helium_harness.case), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_helium_takes_float32_outputs_of_at_most_8_rows():
    """The C keeps a place and a factor of each on the stack."""

    def taken(ratio: int, rows: int, columns: int) -> bool:
        size = (4 * ratio, 8) if rows > columns else (8, 4 * ratio)
        result = (1, 4, *(4 if length == 4 * ratio else length for length in size))
        scales = tuple(new / old for new, old in zip(result, (1, 4, *size)))
        data = Tensor("x", (1, 4, *size), DType.float32, format=channels_last(4))
        operator = Resize(result, scales, "linear", antialias=True)
        assert operator.taps(2, size[0])[1].shape[1] == rows and operator.taps(3, size[1])[1].shape[1] == columns
        values = numpy.zeros(data.dims, numpy.float32)
        return bool(accepted([helium_harness.case(operator, [data], [values], format=channels_last(4))]))

    assert [taken(3, 6, 1), taken(5, 10, 1), taken(5, 1, 10)] == [True, False, True]


def test_the_meaning_is_the_real_number_rounded():
    for entry in cases(120 if STRESS else 60):
        (data,), (output,) = entry.view.inputs, entry.view.outputs
        operator = entry.view.operator
        exact = all(
            numpy.allclose(one.shares / one.whole, operator.taps(axis, size)[1], atol=1e-9)
            for axis, (one, size) in enumerate(zip(shares_of(operator, data.dims), data.dims))
        )
        real = operator.forward(dequantize(entry.values[0], data.quantization)) / output.quantization.scale
        level = numpy.clip(real, -128 - output.quantization.zero_point, 127 - output.quantization.zero_point)
        error = numpy.abs(entry.expected[0].astype(int) - output.quantization.zero_point - level).max()
        assert error <= (0.5001 if exact else 0.9), operator


def test_a_mean_of_two_in_the_middle_between_two_levels_goes_to_the_even_one():
    operator = Resize((1, 4), (1.0, 0.5), "linear")
    data = Tensor("x", (1, 8), DType.int8, quantization=per_tensor(0.1, 0))
    values = numpy.array([[1, 2, 2, 3, -1, -2, 5, 6]], numpy.int8)
    assert harness.case(operator, [data], [values], quantization=data.quantization).expected[0].tolist() == [[2, 2, -2, 6]]


def test_weights_of_common_scales_are_fractions_and_exact():
    found = [shares_of(Resize((1, 6 * n), (1.0, float(n)), "linear"), (1, 6))[1].whole for n in (2, 3, 4, 5)]
    assert found == [4, 3, 8, 5]


def test_weights_without_a_small_denominator_become_multiples_of_a_power_of_two():
    one, other = shares_of(Resize((67, 71), (67 / 101, 71 / 103), "cubic", antialias=True), (101, 103))
    assert one.whole == other.whole == 1 << one.whole.bit_length() - 1 and (one.shares.sum(axis=1) == one.whole).all()
    assert 255 * one.largest * other.largest < 1 << 31 <= 255 * 16 * one.largest * other.largest


@pytest.mark.parametrize("change", [{"dtype": DType.int16}, {"quantization": None}])
def test_other_types_keep_the_meaning_of_float32(change):
    entry = cases(20)[0]
    assert entry.view.operator.in_integers(entry.view.inputs[0].with_(**change), entry.view.outputs[0]) is None


def test_float32_adds_up_tap_by_tap_and_rounds_each_product_and_sum():
    random = Randomness(4)
    data = Tensor("x", (2, 3, 5), DType.float32)
    given = random.numbers.normal(size=data.dims).astype(numpy.float32)
    found = [
        harness.case(operator, [data], [given])
        for operator in (
            Resize((2, 7, 12), (1.0, 7 / 3, 2.4), "cubic"),
            Resize((2, 7, 3), (1.0, 7 / 3, 0.6), "linear", antialias=True),
            Resize((4, 7, 8), (2.0, 7 / 3, 1.6), "linear", "tf_crop_and_resize", begin=(0, -0.5, 0), end=(1, 1, 1.1)),
        )
    ]
    for flags in (("-O2",), ("-O3", "-march=native", "-ffp-contract=fast")):
        assert harness.differing(found, harness.run(found, *flags)) == []


def test_copies_of_elements_are_no_weighted_sums():
    entry = cases(20)[0]
    operator = dataclasses.replace(entry.view.operator, mode="nearest", coordinates="half_pixel", antialias=False)
    assert operator.in_integers(entry.view.inputs[0], entry.view.outputs[0]) is None


def test_runs_of_channels_are_asked_of_the_storage_order_that_the_layer_gets():
    """Signals of 16 channels, whose positions would lie side by side between input and output of the graph: no kernel reads runs
    of one value four at a time."""
    graph = QuantizedGraph((1, 16, 8))
    last = graph.add(Resize((1, 16, 24), (1.0, 1.0, 3.0), "linear"), "x")
    libraries, _ = load_libraries(["cortexm", "ref"], find_libraries([]))
    view = adapt_to_backend(graph.view(last), libraries, Target(frozenset({"dsp", "fpu"}))).view
    (node,) = (node for node in view.nodes if node.type == "Resize")
    assert [tensor.format for tensor in view.input_tensors(node)] == [channels_last(3)]
