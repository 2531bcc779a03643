# SPDX-License-Identifier: MIT
"""Element-wise operators of `ref`: functions of one value, sums and products with broadcasting, conversions."""

from __future__ import annotations

import math

import numpy
from harness import case, differing, far, library, run
from random_tensors import Randomness
from staircase_cases import real_tables, staircases

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.activation import Clip, Elu, HardSigmoid, HardSwish, LeakyReLU, PReLU, ReLU, Sigmoid, Tanh
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Div, Less, Max, Mean, Min, Mul, Sub, Sum
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.unary import Abs, Ceil, Erf, Exp, Floor, Log, Neg, Reciprocal, Round, Sqrt

FUNCTIONS = [
    ReLU(),
    Clip(minimum=-0.5, maximum=6.0),
    Clip(),
    LeakyReLU(0.1),
    Elu(1.5),
    Sigmoid(),
    Tanh(),
    HardSigmoid(0.25, 0.4),
    HardSwish(),
    Abs(),
    Neg(),
    Exp(),
    Ceil(),
    Floor(),
    Round(),
    Erf(),
]
DIMS = [
    ((1, 3, 4, 5), (1, 3, 4, 5)),
    ((2, 3, 4, 5), (1, 3, 1, 1)),
    ((1, 3, 1, 5), (2, 1, 4, 1)),
    ((7,), (1,)),
    ((2, 3, 4), (4,)),
    ((1, 2, 3, 2, 5), (1, 2, 1, 2, 1)),
    ((1, 1), (4, 6)),
    ((5, 3), (3,)),
    ((2, 3, 4, 2), (3, 1, 1)),
    ((1,), (1,)),
]


def test_operators_of_any_number_of_operands_read_each_of_them():
    """Names of operands are none of the loop's own: i, index, m and others."""
    random, cases = numpy.random.default_rng(12), []
    for kind in (Max, Min, Sum, Mean):
        for dtype in (DType.float32, DType.int8, DType.int32)[: 1 if kind is Mean else 3]:
            for count in (8, 9, 13, 16, 26):
                for last in ((2, 3), (3,)):
                    tensors = [Tensor(f"x{index}", (2, 3) if index else last, dtype) for index in range(count)]
                    values = [(random.normal(size=tensor.dims) * 40).astype(dtype.numpy) for tensor in tensors]
                    cases.append(case(kind(), tensors, values))
    assert far(cases, run(cases), 1e-6) == []


def test_steps_of_functions_from_float_to_int8_are_exact():
    cases = list(staircases(case))
    assert differing(cases, run(cases)) == []


def test_tables_of_floats_are_exact():
    cases = list(real_tables(case))
    assert differing(cases, run(cases)) == []


def test_every_function_of_one_int8_value_is_exact():
    cases = []
    for seed, operator in enumerate(FUNCTIONS * 2):
        random = Randomness(seed)
        data = random.data(1, 3, 5, 7)
        cases.append(case(operator, [data], [random.int8(*data.dims)], quantization=random.quantization(0.02)))
    assert differing(cases, run(cases)) == []


RESCALED = (
    (DType.int16, 0.0002, 0, DType.int8, 0.05, -3),  # ties: where levels begin is no line
    (DType.int16, 0.00021, 100, DType.int8, 0.05, -3),
    (DType.uint16, 0.0003, 30000, DType.uint8, 0.0731, 133),
    (DType.int16, 0.001, 0, DType.uint8, 0.0001, 128),
    (DType.int8, 0.1137, 5, DType.int16, 0.0005, 0),
    (DType.int8, 0.1137, 5, DType.int16, 0.00047, -7),
    (DType.uint8, 0.01, 255, DType.uint16, 0.01, 0),
    (DType.int16, 0.001, 3, DType.int16, 0.0017, -5),
    (DType.int16, 0.001, 3, DType.int16, 0.004, 0),
)


def rescalings(make):
    """All values of a type in the scale of another; `make` is `case` of a harness."""
    for kind, scale, point, result, result_scale, result_point in RESCALED:
        low, high = kind.range
        values = numpy.arange(low, high + 1).astype(kind.numpy)
        data = Tensor("x", values.shape, kind, quantization=per_tensor(scale, point))
        yield make(Clip(), [data], [values], dtype=result, quantization=per_tensor(result_scale, result_point))


def test_every_stored_value_in_another_type_and_scale_is_exact():
    cases = list(rescalings(case))
    forms = {entry.call.function.split("_each_run_")[1].rsplit("_", 2)[0] for entry in cases}
    assert forms == {"rescale_line", "rescale_steps", "rescale_table", "rescale_float"}
    assert differing(cases, run(cases)) == []


def test_a_function_gives_the_zero_point_where_it_has_no_value():
    """The root and logarithm of negative numbers, NaN, which QuantizeLinear takes for 0; 1 / 0 saturates."""
    cases = []
    for operator in (Sqrt(), Log(), Reciprocal()):
        data = Tensor("x", (4,), DType.int8, quantization=per_tensor(0.1, 0))
        cases.append(case(operator, [data], [numpy.array([-128, -1, 0, 10], numpy.int8)], quantization=per_tensor(0.1, 3)))
    assert differing(cases, run(cases)) == []
    roots, logarithms, reciprocals = (values.tolist() for (values,) in run(cases))
    assert roots == [3, 3, 3, 13] and logarithms == [3, 3, -128, 3] and reciprocals == [2, -97, 127, 13]


def binary_cases(operators, count):
    for seed in range(count):
        random = Randomness(seed)
        first, second = DIMS[seed % len(DIMS)] if random.integer(0, 1) else DIMS[seed % len(DIMS)][::-1]
        operator = random.choice(*operators)
        low, high = random.choice((-math.inf, math.inf), (0.0, math.inf), (0.0, 2.0))
        operator = operator(minimum=low, maximum=high)
        around = 0.05 if operator.type != "Mul" else 0.15
        inputs, values = [], []
        for name, dims in (("a", first), ("b", second)):
            tensor = random.data(*dims, name=name)
            if name == "b" and random.integer(0, 2) == 0:
                inputs.append(tensor.with_(data=random.int8(*dims)))
            else:
                inputs.append(tensor)
                values.append(random.int8(*dims))
        yield case(operator, inputs, values, quantization=random.quantization(around))


def test_int8_sums_and_products_are_exact_with_any_broadcasting():
    cases = list(binary_cases((Add, Sub, Mul), 80))
    assert differing(cases, run(cases)) == []


def test_int8_sums_with_extreme_and_tied_scales_are_exact():
    cases = []
    for scales in [
        (1.0, 1.0, 2.0),
        (0.75, 0.75, 4.5),
        (1e-3, 10.0, 0.05),
        (2.0**-10, 1.0, 2.0**-9),
        (1.0, 1.0, 1e-3),
        (1.0, 1.0, 1000.0),
        (1 / 3, 1.0, 2 / 3),
    ]:
        grid = [grid.astype(numpy.int8) for grid in numpy.meshgrid(numpy.arange(-128, 128), numpy.arange(-128, 128))]
        for operator in (Add(), Sub(), Mul()):
            inputs = [
                Tensor(name, (256, 256), DType.int8, quantization=per_tensor(scale, zero_point))
                for name, scale, zero_point in zip("ab", scales, (-128, 5))
            ]
            cases.append(case(operator, inputs, grid, quantization=per_tensor(scales[2], -3)))
    functions = {entry.call.function for entry in cases}
    assert functions == {"aidge_ref_add_int8", "aidge_ref_add_wide_int8", "aidge_ref_mul_int8"}
    assert differing(cases, run(cases)) == []


def test_float32_functions_and_operators_are_within_tolerance():
    cases = []
    supported = {kernel.type for kernel in library().kernels if kernel.name == "unary_float32"}
    for seed, operator in enumerate([*FUNCTIONS, Sqrt()]):
        if operator.type in supported:
            random = Randomness(seed)
            values = 4 * random.float32(1, 3, 5, 7)
            cases.append(case(operator, [random.real(*values.shape)], [abs(values) if operator.type == "Sqrt" else values]))
    for seed, (first, second) in enumerate(DIMS):
        for operator in (Add(minimum=0.0), Sub(), Mul(maximum=1.0), Div()):
            random = Randomness(seed)
            fixed = constant("b", random.float32(*second))
            cases.append(case(operator, [random.real(*first, name="a"), fixed], [random.float32(*first)]))
            cases.append(
                case(
                    operator,
                    [random.real(*first, name="a"), random.real(*second, name="b")],
                    [random.float32(*first), random.float32(*second)],
                )
            )
    for dims in ((3, 1, 1), (1,), (2, 3, 4, 5)):
        random = Randomness(2)
        slope = constant("slope", random.float32(*dims))
        cases.append(case(PReLU(), [random.real(2, 3, 4, 5), slope], [random.float32(2, 3, 4, 5)]))
    random = Randomness(3)
    for dims in ((2, 5, 3, 3), (1, 5), (2, 5, 4)):
        numbers = [constant(name, abs(random.float32(5)) + 0.1) for name in ("scale", "bias", "mean", "variance")]
        cases.append(case(BatchNormalization(minimum=0.0), [random.real(*dims), *numbers], [random.float32(*dims)]))
    assert len(supported) == 12
    assert far(cases, run(cases)) == []


def conversion_parameters(random, count, dtype=numpy.int8):
    shape = () if count == 1 else (count,)
    scales = numpy.array([random.scale() for _ in range(count)], numpy.float32).reshape(shape)
    return [constant("scale", scales), constant("zero_point", random.int8(*shape).astype(dtype))]


def test_quantize_rounds_ties_to_even_saturates_and_gives_nan_the_zero_point():
    cases = []
    special = numpy.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, numpy.inf, -numpy.inf, numpy.nan, 1e30, -1e30, 127.5, 128.5, -128.5, 255.5, -0.0],
        numpy.float32,
    )
    zero_point = constant("zero_point", numpy.array(-1, numpy.int8))
    for scale in (1.0, 0.5, 0.1):
        parameters = [constant("scale", numpy.array(scale, numpy.float32)), zero_point]
        cases.append(case(QuantizeLinear(0, DType.int8), [Tensor("x", special.shape, DType.float32), *parameters], [special]))
    for seed in range(12):
        random = Randomness(seed)
        parameters = conversion_parameters(random, random.choice(1, 3))
        values = 5 * random.float32(2, 3, 4, 5)
        values = random.choice(values, numpy.round(values * 4) / numpy.float32(4))
        cases.append(case(QuantizeLinear(1, DType.int8), [random.real(*values.shape), *parameters], [values]))
    for flags in (("-O0",), ("-O2",), ("-O3", "-march=native", "-ffp-contract=fast")):
        assert differing(cases, run(cases, *flags)) == []


def test_dequantize_is_exact():
    cases = []
    for seed in range(6):
        random = Randomness(seed)
        parameters = conversion_parameters(random, random.choice(1, 3))
        data = Tensor("x", (2, 3, 4, 5), DType.int8)
        cases.append(case(DequantizeLinear(1), [data, *parameters], [random.int8(*data.dims)]))
    assert differing(cases, run(cases)) == []


def test_operands_that_lie_in_one_run_need_no_loop_around_it():
    random = Randomness(3)
    whole, row = (Tensor(name, dims, DType.float32) for name, dims in (("a", (2, 3, 4)), ("b", (1, 3, 1))))
    values = {tensor: random.float32(*tensor.dims) for tensor in (whole, row)}
    for operator, generated in ((Add(), "add_float32"), (Less(), "each_less_float32_float32_bool")):
        for second in (whole, row):
            one = case(operator, [whole, second], [values[whole], values[second]])
            plain = generated if second is row else generated.replace("each_", "each_run_").replace("add_", "add_run_")
            assert one.call.function == f"aidge_ref_{plain}"
            assert far([one], run([one])) == [] if operator.type == "Add" else differing([one], run([one])) == []
