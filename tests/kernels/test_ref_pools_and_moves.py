# SPDX-License-Identifier: MIT
"""Pools, softmax, matrix products and kernels that only move data."""

from __future__ import annotations

import math

import numpy
import pytest
from harness import case, differing, far, run
from pool_cases import tied_pools
from random_tensors import Randomness
from stored_products import products_with_bytes, rows_as_bytes, seen_products, stored_products

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, channels_last, row_major
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.matmul import Gemm, MatMul
from aidge_build.operators.pad import Pad
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling, GlobalMaxPooling, MaxPooling
from aidge_build.operators.rearrange import Concat, Slice
from aidge_build.operators.reformat import Reformat
from aidge_build.operators.softmax import Softmax
from aidge_build.operators.window import Window

# dims, kernel, stride, dilation, pads begin, pads end, ceil_mode
POOLS = [
    ((1, 3, 1, 1), (1, 1), 1, 1, 0, 0, False),
    ((2, 5, 7, 6), (2, 2), 2, 1, 0, 0, False),
    ((1, 1, 5, 5), (3, 3), 1, 1, 1, 1, False),
    ((1, 17, 6, 5), (3, 2), 2, 1, 1, 0, True),
    ((1, 4, 9, 9), (3, 3), 3, 2, 1, 1, False),
    ((1, 4, 6, 6), (6, 6), 1, 1, 0, 0, False),
    ((2, 3, 11), (4,), 3, 1, 1, 2, False),
    ((1, 2, 8, 1), (5, 1), 2, 1, 0, 0, False),
    ((1, 2, 25, 5), (25, 5), 1, 1, 0, 0, False),
]


def window_of(dims, kernel, stride, dilation, begin, end, ceil_mode):
    rank = len(kernel)
    return Window(kernel, (stride,) * rank, (dilation,) * rank, (begin,) * rank, (end,) * rank, ceil_mode)


def pools(random):
    for edge in POOLS:
        low, high = random.choice((-math.inf, math.inf), (0.0, math.inf))
        yield edge[0], MaxPooling(minimum=low, maximum=high, window=window_of(*edge))
        yield edge[0], AvgPooling(minimum=low, maximum=high, window=window_of(*edge))
        if not edge[-1]:
            yield edge[0], AvgPooling(window=window_of(*edge), count_include_pad=True)
    for dims in ((1, 3, 4, 5), (2, 5, 12, 12), (1, 4, 1, 1), (1, 3, 9), (1, 2, 2, 3, 4), (1, 1, 64, 64)):
        yield dims, GlobalAveragePooling(minimum=random.choice(0.0, -math.inf))
        yield dims, GlobalMaxPooling()


def test_int8_pools_are_exact():
    cases = []
    for seed in range(4):
        random = Randomness(seed)
        for dims, operator in pools(random):
            data = random.data(*dims)
            other = data.quantization if "Max" in operator.type else random.quantization(0.04)
            quantization = random.choice(data.quantization, other)
            cases.append(case(operator, [data], [random.int8(*dims)], quantization=quantization))
    assert differing(cases, run(cases)) == []


def test_means_in_the_middle_of_two_levels_are_exact_whether_pads_count_or_not():
    cases = tied_pools(case)
    assert differing(cases, run(cases)) == []


def test_every_sum_of_a_mean_with_ties_is_exact():
    cases = []
    for scale in (1.0, 0.5, 3.0):
        data = Tensor("x", (18361, 1, 6, 6), DType.int8, quantization=per_tensor(1.0, 0))
        sums = numpy.arange(-9180, 9181)
        low = sums // 36
        values = (low[:, None] + (numpy.arange(36) < (sums - 36 * low)[:, None])).clip(-128, 127).astype(numpy.int8)
        cases.append(case(GlobalAveragePooling(), [data], [values.reshape(data.dims)], quantization=per_tensor(scale, 7)))
    assert differing(cases, run(cases)) == []


def means_of_one_scale():
    """Many of whose values lie in the middle of two levels, in each order; of some scales products and sums lie in the middle
    of two floats, too."""
    mantissas = (0x800000, 0x800001, 0x800040, 0xC00080, 0xC0C0C1, 0xFFFF00, 0xFFFFFF)
    shapes = (((64, 64), (2, 2), 2), ((64, 64), (4, 2), 2), ((32, 33), (3, 2), 2), ((24, 24), (24, 12), 12), ((400,), (4,), 4))
    for seed, mantissa in enumerate(mantissas):
        for spatial, kernel, stride in shapes:
            window = window_of((), kernel, stride, 1, 0, 0, False)
            data = Tensor("x", (1, 3, *spatial), DType.int8, quantization=per_tensor(mantissa * 2.0**-29, 2 - seed))
            values = Randomness(seed).int8(*data.dims)
            yield case(AvgPooling(window=window), [data], [values], quantization=data.quantization)


def test_a_mean_beside_the_middle_of_two_levels_is_what_float32_makes_of_its_values():
    cases = list(means_of_one_scale())
    assert differing(cases, run(cases)) == []


def test_a_mean_of_pads_alone_is_refused():
    data = Tensor("x", (1, 1, 2), DType.int8, quantization=per_tensor(1.0, 0))
    pool = AvgPooling(window=Window((1,), (1,), (1,), (1,), (0,)))
    with pytest.raises(AidgeError, match="reads only padding"):
        case(pool, [data], [numpy.zeros((1, 1, 2), numpy.int8)], quantization=per_tensor(1.0, 0)).call


def test_float32_pools_are_within_tolerance():
    random = Randomness(8)
    cases = [case(operator, [random.real(*dims)], [random.float32(*dims)]) for dims, operator in pools(random)]
    assert far(cases, run(cases)) == []


SOFTMAX = [
    ((1, 10), Softmax(-1)),
    ((3, 12), Softmax(1)),
    ((2, 3, 4, 5), Softmax(1)),
    ((2, 3, 4, 5), Softmax(3)),
    ((2, 3, 4, 5), Softmax(0)),
    ((1, 1), Softmax(1)),
    ((2, 3, 4), Softmax(1, True)),
    ((2, 3, 4), Softmax(0, True)),
    ((5,), Softmax(0)),
]


def test_int8_softmax_is_exact():
    cases = []
    for seed in range(5):
        random = Randomness(seed)
        for dims, operator in SOFTMAX:
            result = random.choice(per_tensor(1 / 256, -128), per_tensor(1 / 256, -128), random.quantization(0.004))
            data = Tensor("x", dims, DType.int8, quantization=per_tensor(random.choice(random.scale(), 1e-4, 20.0), 4))
            cases.append(case(operator, [data], [random.int8(*dims)], quantization=result))
    assert differing(cases, run(cases)) == []


def test_float32_softmax_is_within_tolerance():
    random = Randomness(9)
    cases = [case(operator, [random.real(*dims)], [10 * random.float32(*dims)]) for dims, operator in SOFTMAX]
    assert far(cases, run(cases)) == []


def test_float32_matrix_products_are_within_tolerance():
    cases, random = [], Randomness(10)
    shapes = [((2, 3), (3, 4)), ((1, 1), (1, 1)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 2, 4), (4, 5)), ((2, 3, 1, 4), (2, 1, 4, 6))]
    for first, second in shapes:
        values = random.float32(*first), random.float32(*second)
        cases.append(case(MatMul(), [random.real(*first, name="a"), random.real(*second, name="b")], values))
        cases.append(case(MatMul(), [random.real(*first, name="a"), constant("b", values[1])], values[:1]))
    for flip_a in (False, True):
        for flip_b in (False, True):
            first, second = (3, 2) if flip_a else (2, 3), (4, 3) if flip_b else (3, 4)
            for third in ((2, 4), (4,), (1, 1), (2, 1), None):
                bias = None if third is None else constant("c", random.float32(*third))
                inputs = [random.real(*first, name="a"), random.real(*second, name="b"), bias]
                values = [random.float32(*first), random.float32(*second)]
                cases.append(case(Gemm(0.5, 2.0, flip_a, flip_b), inputs, values))
    assert far(cases, run(cases)) == []


def test_a_second_matrix_is_read_as_it_is_stored():
    cases = stored_products(case)
    assert {entry.call.function for entry in cases} == {"aidge_ref_gemm_float32", "aidge_ref_product_bytes"}
    cases += products_with_bytes(case)
    assert far(cases, run(cases)) == []


def test_rows_of_a_cache_are_read_up_to_a_position():
    cases = seen_products(case)
    assert far(cases, run(cases)) == []


def test_rows_become_bytes_with_a_scale_of_their_own():
    cases = rows_as_bytes(case)
    assert differing(cases, run(cases)) == []


def moved(random, dtype, *dims, name="x"):
    """A tensor of this type with values; int8 ones are quantized."""
    quantization = per_tensor(0.05, 3) if dtype is DType.int8 else None
    values = random.numbers.integers(-100, 100, dims).astype(dtype.numpy)
    return Tensor(name, dims, dtype, quantization=quantization), values, {"quantization": quantization}


def test_data_movement_is_exact_for_every_type():
    cases = []
    for seed, dtype in enumerate((DType.int8, DType.float32, DType.int64, DType.int16)):
        random = Randomness(seed)
        pads = (0, 1, 2, 0), (1, 0, 2, 3)
        data, values, output = moved(random, dtype, 2, 3, 4, 5)
        fill = 1.5 if dtype.is_float or dtype is DType.int8 else 7
        cases.append(case(Pad(*pads, "constant", fill), [data], [values], **output))
        cases.append(case(Pad((0, -1, 1, 0), (0, 1, -2, -1)), [data], [values], **output))
        cases.append(case(Slice((1, 2, 0, 3), (1, 3, 2, 2), (1, -1, 2, -2)), [data], [values], **output))
        cases.append(case(Slice((0, 0, 1, 0), (2, 3, 2, 5), (1, 1, 1, 1)), [data], [values], **output))
        for axis in range(4):
            parts = [
                moved(random, dtype, *(n if i == axis else d for i, d in enumerate((2, 3, 4, 5))), name=f"x{n}")
                for n in (1, 3, 2)
            ]
            tensors = [parts[0][0], parts[1][0].with_(data=parts[1][1]), parts[2][0]]
            cases.append(case(Concat(axis), tensors, [parts[0][1], parts[2][1]], **output))
    assert differing(cases, run(cases)) == []


def test_a_copy_between_any_two_storage_orders_is_exact():
    cases = []
    orders = [row_major(4), channels_last(4), Format((3, 0, 2, 1)), Format((1, 0, 3, 2))]
    for dtype in (DType.int8, DType.float32, DType.int64):
        for source in orders:
            for target in orders:
                data, values, output = moved(Randomness(1), dtype, 2, 3, 4, 5)
                cases.append(case(Reformat(), [data.with_(format=source)], [values], format=target, **output))
    data, values, output = moved(Randomness(2), DType.int8, 1, 3, 1, 5, 2, 2)
    cases.append(case(Reformat(), [data], [values], format=Format((5, 4, 3, 2, 1, 0)), **output))
    for dims in ((1, 1, 3, 3), (1, 2, 5, 1), (3, 7, 2, 2), (1, 16, 1, 9), (2, 6, 4, 4)):
        data, values, output = moved(Randomness(3), DType.int16, *dims)
        cases += [
            case(Reformat(), [data.with_(format=one(4))], [values], format=other(4), **output)
            for one, other in ((row_major, channels_last), (channels_last, row_major))
        ]
    assert differing(cases, run(cases)) == []
    assert sum("transpose" in entry.call.function for entry in cases) >= 12


def test_int8_concatenation_of_different_scales_is_exact():
    cases = []
    for seed in range(6):
        random = Randomness(seed)
        axis = random.integer(0, 3)
        parts = [
            random.data(*(random.integer(1, 4) if i == axis else d for i, d in enumerate((2, 3, 4, 5))), name=f"x{n}")
            for n in range(random.integer(2, 8))
        ]
        parts[-1] = parts[-1].with_(quantization=parts[0].quantization)
        cases.append(case(Concat(axis), parts, [random.int8(*part.dims) for part in parts], quantization=random.quantization()))
    assert all("concat_tables" in entry.call.function for entry in cases)
    assert differing(cases, run(cases)) == []
