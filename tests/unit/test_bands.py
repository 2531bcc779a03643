# SPDX-License-Identifier: MIT
"""Bands of operators: rows of a layer computed from rows of its inputs are the rows of the whole layer, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.operators import operator_classes
from aidge_build.operators.activation import ReLU
from aidge_build.operators.bands import ROWS
from aidge_build.operators.base import Operator
from aidge_build.operators.binary import Add
from aidge_build.operators.blocks import DepthToSpace, SpaceToDepth
from aidge_build.operators.conv import Conv
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.pad import Pad
from aidge_build.operators.pool import AvgPooling, AvgPoolingHalvesUp, LpPooling, MaxPooling, MaxPoolingIndices
from aidge_build.operators.quantize import (
    ByInput,
    QuantizationNode,
)
from aidge_build.operators.rearrange import Concat, Slice, Split
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.resize import Resize
from aidge_build.operators.sample import numbers
from aidge_build.operators.softmax import Softmax
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.operators.window import Window
from tests.unit.band_cases import IMAGE, LAYERS, NEAREST, OTHER, UP

# Losing the bands of one of these would be losing the cascades that it is in.
WITH_BANDS = """
Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AvgPooling AvgPoolingHalvesUp BatchNormalization Binarizer BitShift
BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Celu Clip ClipBetween Concat Conv ConvInteger ConvTranspose Cos Cosh
CumSum DepthToSpace DequantizeByInput DequantizeLinear Div Dropout DropoutWithMask DynamicConv Elu Equal Erf Exp Expand
FlipSign Floor Gather Gelu Greater GreaterOrEqual HardSigmoid HardSwish Hardmax Identity IsInf IsNaN LRN LayerNormalization
LeakyReLU Less LessOrEqual Log LogSoftmax LpNormalization LpPooling Max MaxPooling Mean MeanVarianceNormalization Min Mish Mod
Mul Neg Not Or PReLU Pad PadByInput Pow QLinearConv QuantizeByInput QuantizeLinear RMSNormalization ReLU RealTable Reciprocal
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reformat
Reshape Resize Restated Round Selu Shrink Sigmoid Sign Sin Sinh Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze
Staircase Sub
Sum Swish Table Tan Tanh ThresholdedRelu Tile Transpose Unsqueeze Upsample Where Xor ZeroedRows
""".split()


def _tensor(name: str, value: numpy.ndarray | None, constant: bool = False) -> Tensor | None:
    """As in a model: what is float64 here is float32 there."""
    if value is None:
        return None
    value = value.astype(numpy.float32) if value.dtype.kind == "f" else value
    return Tensor(name, value.shape, DType(value.dtype.name), value if constant else None)


def _tensors(operator, given) -> list[Tensor | None]:
    stated = isinstance(operator, QuantizationNode)  # its parameters are constants
    return [_tensor(f"x{index}", value, stated and index > 0) for index, value in enumerate(given)]


def _values(tensors: Sequence[Tensor | None], given: Sequence[numpy.ndarray | None]) -> list[numpy.ndarray | None]:
    return [value if tensor is None else value.astype(tensor.dtype.numpy) for tensor, value in zip(tensors, given)]


def _outputs(operator: Operator, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    return [Tensor(f"y{index}", one.dims, one.dtype) for index, one in enumerate(operator.infer(inputs))]


def _cut(value, rows):
    return value if value is None or rows is None else value[:, :, rows[0] : rows[1]]


def _fewer(tensor, rows):
    return (
        tensor if tensor is None or rows is None else tensor.with_(dims=(*tensor.dims[:2], rows[1] - rows[0], *tensor.dims[3:]))
    )


def check_bands(operator, values, inputs, outputs, cuts: Sequence[int]) -> int:
    """Compute the rows between cuts, and compare them with those of the whole; how many bands there were."""
    whole, before, macs, found = evaluate(operator, values, inputs, outputs), None, 0, 0
    for rows in zip(cuts, cuts[1:]):
        band = operator.band(inputs, outputs, *rows)
        if band is None:
            continue
        assert type(band.operator) is type(operator) and len(band.reads) == len(inputs)
        read = [part for part in band.reads if part is not None]
        assert all(0 <= part[0] < part[1] <= tensor.dims[ROWS] for part, tensor in zip(band.reads, inputs) if part)
        assert before is None or all(old[0] <= new[0] and old[1] <= new[1] for old, new in zip(before, read))
        parts = [_fewer(tensor, part) for tensor, part in zip(inputs, band.reads)]
        results = [_fewer(tensor, rows) for tensor in outputs]
        assert [one.dims for one in band.operator.infer(parts)] == [tensor.dims for tensor in results]
        made = evaluate(band.operator, [_cut(value, part) for value, part in zip(values, band.reads)], parts, results)
        for one, all_rows in zip(made, whole):
            assert one.dtype == all_rows.dtype
            numpy.testing.assert_array_equal(one, _cut(all_rows, rows), f"{operator}, rows {rows}")
        before, macs, found = read, macs + band.operator.multiply_accumulates(parts, results), found + 1
    if found == len(cuts) - 1:
        assert macs == operator.multiply_accumulates(inputs, outputs)
    return found


def partitions(rows: int):
    """Whole, single rows, pairs, and unequal parts."""
    return ((0, rows), tuple(range(rows + 1)), tuple(sorted({*range(0, rows, 2), rows})), tuple(sorted({0, rows // 3, 2, rows})))


def _has_rows(outputs: Sequence[Tensor]) -> bool:
    return all(tensor.rank > ROWS and tensor.dims[ROWS] == outputs[0].dims[ROWS] for tensor in outputs)


def cases():
    """(class, sample) of every operator."""
    samples = [(cls.__name__, sample) for cls in operator_classes() for sample in cls.samples()]
    return samples + [(type(sample.operator).__name__, sample) for sample in LAYERS]


def quantized(operator, inputs, outputs, draw):
    """Tensors of real numbers as int8 ones with random scales and zero points; a layer's bias is int32."""

    def some(shared: bool = False) -> Quantization:
        return draw(shared)

    moves = operator.hands_on or isinstance(operator, AvgPooling)
    if isinstance(operator, LinearQuantized):
        data, weights = some(), replace(some(), zero_points=(0,))
        bias = Quantization((float(numpy.float32(data.scales[0] * weights.scales[0])),), (0,), None, data.rounding)
        kinds = ((DType.int8, data), (DType.int8, weights), (DType.int32, bias))
        given = [
            None if tensor is None else tensor.with_(dtype=kind[0], quantization=kind[1]) for tensor, kind in zip(inputs, kinds)
        ]
    else:
        given = [
            tensor if tensor is None or not tensor.dtype.is_float else tensor.with_(dtype=DType.int8, quantization=some(moves))
            for tensor in inputs
        ]
    made = [
        tensor if not tensor.dtype.is_float else tensor.with_(dtype=DType.int8, quantization=some(moves)) for tensor in outputs
    ]
    return given, made


def drawn_by(generator, rounding: str):
    """Random quantizations, `shared` ones equal."""

    def some() -> Quantization:
        scale = float(numpy.float32(generator.uniform(0.004, 0.09)))
        return Quantization((scale,), (int(generator.integers(-128, 128)),), None, rounding)

    common = some()
    return lambda shared: common if shared else some()


def check_quantized(operator, given, cuts, generator, rounding: str) -> int:
    """`check_bands` of the operator between int8 tensors; 0 where it has no meaning there."""
    inputs = _tensors(operator, given)
    tensors, made = quantized(operator, inputs, _outputs(operator, inputs), drawn_by(generator, rounding))
    values = [
        value
        if tensor is None or tensor.quantization is None
        else generator.integers(-128, 128, tensor.dims).astype(tensor.dtype.numpy)
        for tensor, value in zip(tensors, given)
    ]
    if all(operator.band(tensors, made, *rows) is None for rows in zip(cuts, cuts[1:])):
        return 0
    try:
        evaluate(operator, values, tensors, made)
    except AidgeError as error:
        assert error.code in ("ROUNDING", "OPERATOR")
        return 0
    return check_bands(operator, values, tensors, made, cuts)


def test_operators_in_bands_compute_the_rows_of_the_whole():
    having = set()
    for name, sample in cases():
        inputs = _tensors(sample.operator, sample.inputs)
        outputs = _outputs(sample.operator, inputs)
        rows = outputs[0].dims[ROWS] if _has_rows(outputs) else 1
        for cuts in partitions(rows):
            if check_bands(sample.operator, _values(inputs, sample.inputs), inputs, outputs, cuts) and len(cuts) > 2:
                having.add(name)
    assert sorted(having) == WITH_BANDS


def test_operators_on_quantized_tensors_in_bands_compute_the_rows_of_the_whole():
    generator, having = numpy.random.default_rng(20), {"onnx": set(), "double": set()}
    for name, sample in cases():
        operator, inputs = sample.operator, _tensors(sample.operator, sample.inputs)
        real = not isinstance(operator, QuantizationNode | ByInput) and inputs[0] is not None and inputs[0].dtype is DType.float32
        outputs = _outputs(operator, inputs)
        if not real or not _has_rows(outputs):
            continue
        rows = outputs[0].dims[ROWS]
        for rounding, names in having.items():
            cuts = partitions(rows)[generator.integers(1, 4)]
            if len(cuts) > 2 and check_quantized(operator, sample.inputs, cuts, generator, rounding):
                names.add(name)
    assert having["onnx"] >= {"Add", "AvgPooling", "Concat", "Conv", "Mul", "ReLU", "Resize", "Sigmoid", "Softmax"}
    assert having["double"] >= {"Add", "AvgPooling", "Concat", "Conv", "Mul", "ReLU", "Resize", "Sigmoid", "Softmax"}


@st.composite
def windows(draw):
    """A window of one or two axes and the dims that it slides over."""
    rank = draw(st.integers(1, 2))
    kernel = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    strides = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    dilations = tuple(draw(st.sampled_from((1, 1, 2, 3))) for _ in range(rank))
    extents = Window(kernel, strides, dilations, (), ()).extents
    begin, end = (tuple(draw(st.integers(0, extent - 1)) for extent in extents) for _ in range(2))
    spatial = tuple(draw(st.integers(max(1, extent - low - high), extent + 6)) for extent, low, high in zip(extents, begin, end))
    return Window(kernel, strides, dilations, begin, end, draw(st.booleans())), spatial


def _slid(kind: str, window: Window, counted: bool) -> tuple[Operator, tuple[tuple[int, ...], ...]]:
    """The operator with this window, and the dims of its parameters."""
    plain = replace(window, ceil_mode=False)
    return {
        "conv": (Conv(window=plain), ((2, 4, *window.kernel), (2,))),
        "grouped": (Conv(window=plain, groups=2), ((6, 2, *window.kernel),)),
        "depthwise": (Conv(window=plain, groups=4, depthwise=True), ((4, 1, *window.kernel),)),
        "max": (MaxPooling(window=window), ()),
        "average": (AvgPooling(window=window, count_include_pad=counted), ()),
        "halves": (AvgPoolingHalvesUp(window=window), ()),
        "norm": (LpPooling(window=window, order=1), ()),
    }[kind]


KINDS = ("conv", "grouped", "depthwise", "max", "average", "average", "halves", "norm")


@settings(max_examples=120, derandomize=True)
@given(windows(), st.sampled_from(KINDS), st.booleans(), st.sampled_from(("float", "onnx", "double")), st.data())
def test_windows_in_bands_see_the_rows_of_the_whole(case, kind, counted, numbers_of, data):
    window, spatial = case
    operator, parameters = _slid(kind, window, counted)
    generator = numpy.random.default_rng(data.draw(st.integers(0, 1000)))
    given = [generator.integers(-64, 64, dims) / (64 if kind.startswith("a") else 4) for dims in ((1, 4, *spatial), *parameters)]
    inputs = _tensors(operator, given)
    try:
        outputs = _outputs(operator, inputs)
    except AidgeError:  # a window that looks only at pads
        return
    rows = outputs[0].dims[ROWS]
    cuts = sorted({0, rows, *data.draw(st.lists(st.integers(0, rows), max_size=rows))})
    if numbers_of == "float":
        # Sums in float32 that round: an order of their own would show.
        found = check_bands(operator, _values(inputs, [value / 3 for value in given]), inputs, outputs, cuts)
    else:
        found = check_quantized(operator, given, cuts, generator, numbers_of)
    sees = all(operator.window.band(spatial[0], *pair) is not None for pair in zip(cuts, cuts[1:]))
    if sees and kind not in ("average", "halves") and numbers_of != "double":
        assert found == len(cuts) - 1


def _band(operator, *values, rows=(1, 3), constants=()):
    inputs = [_tensor(f"x{index}", value, index in constants) for index, value in enumerate(values)]
    return operator.band(inputs, _outputs(operator, inputs), *rows)


def test_a_window_in_the_middle_has_no_pads_and_those_at_the_ends_have_what_is_left():
    window = Window((5, 3), (2, 1), (1, 1), (2, 1), (2, 1))
    assert window.band(12, 0, 1) == (Window((5, 3), (2, 1), (1, 1), (2, 1), (0, 1)), (0, 3))
    assert window.band(12, 1, 4) == (Window((5, 3), (2, 1), (1, 1), (0, 1), (0, 1)), (0, 9))
    assert window.band(12, 5, 6) == (Window((5, 3), (2, 1), (1, 1), (0, 1), (1, 1)), (8, 12))
    assert Window((1,), (1,), (1,), (2,), (0,)).band(4, 0, 2) is None  # it sees pads alone


def test_what_a_band_reads_and_where_it_has_to_begin():
    assert _band(DepthToSpace(2), IMAGE, rows=(2, 6)).reads == ((1, 3),)
    assert _band(DepthToSpace(2), IMAGE, rows=(1, 4)) is None is _band(DepthToSpace(2), IMAGE, rows=(2, 5))
    assert _band(SpaceToDepth(2), IMAGE[..., :4], rows=(1, 2)).reads == ((2, 4),)
    assert _band(NEAREST, IMAGE, rows=(4, 8)).reads == ((2, 4),)
    assert _band(NEAREST, IMAGE, rows=(3, 8)) is None
    assert _band(replace(NEAREST, mode="linear"), IMAGE, rows=(4, 8)).reads == ((2, 5),)
    assert _band(replace(NEAREST, mode="linear", coordinates="half_pixel"), IMAGE, rows=(4, 8)) is None
    assert _band(Add(), IMAGE, numbers(4, 1, 5)).reads == ((1, 3), None)
    assert _band(Add(), numbers(1, 4, 1, 1), numbers(1, 4, 1, 1, seed=1), rows=(0, 1)).reads == ((0, 1), (0, 1))
    assert _band(Pad((0, 0, 2, 0), (0, 0, 0, 0)), IMAGE, rows=(0, 3)).operator.pads_begin == (0, 0, 2, 0)
    assert _band(Pad((0, 0, 2, 0), (0, 0, 0, 0)), IMAGE, rows=(0, 2)) is None
    joined = _band(Concat(1), IMAGE, OTHER)
    assert joined.reads == ((1, 3), (1, 3)) and joined.operator == Concat(1)


@pytest.mark.parametrize(
    "operator, values",
    [
        (Softmax(2), (IMAGE,)),
        (Softmax(1, until_end=True), (IMAGE,)),
        (Concat(2), (IMAGE, OTHER)),
        (Concat(0), (IMAGE, OTHER)),
        (Split(2, (1, 5)), (IMAGE,)),
        (Slice((0, 0, 5, 0), (1, 4, 6, 5), (1, 1, -1, 1)), (IMAGE,)),
        (ReduceMean((1,), False), (IMAGE,)),
        (ReduceMean((2,), True), (IMAGE,)),
        (Transpose((0, 1, 3, 2)), (IMAGE,)),
        (Reshape((1, 4, 5, 6)), (IMAGE,)),
        (Pad((0, 0, 1, 0), (0, 0, 0, 0), "edge"), (IMAGE,)),
        (MaxPoolingIndices(window=UP), (IMAGE,)),
        (Add(), (IMAGE, numbers(6, 5))),
        (Add(), (IMAGE, numbers(4, 6, 5))),
    ],
)
def test_what_mixes_rows_has_no_bands(operator, values):
    assert _band(operator, *values, rows=(1, 2)) is None


def test_a_constant_that_varies_along_the_rows_leaves_no_bands():
    assert _band(Add(), IMAGE, OTHER, constants=(1,)) is None
    assert _band(Add(), IMAGE, numbers(1, 4, 1, 5), constants=(1,)).reads == ((1, 3), None)


def test_quantization_along_the_rows_leaves_no_bands():
    each = Quantization((0.5,) * 6, (0,) * 6, ROWS)
    plain, by_rows = _tensor("x", IMAGE), _tensor("x", IMAGE).with_(quantization=each)
    for inputs, outputs in (((by_rows,), (plain,)), ((plain,), (by_rows,))):
        assert ReLU().band(inputs, outputs, 1, 3) is None
        assert Conv(window=UP).band((*inputs, _tensor("w", numbers(2, 4, 2, 2))), outputs, 1, 2) is None


def test_an_average_that_would_add_in_another_order_has_no_band():
    """One row of windows as large as its band: onnxruntime adds such an image up in lanes, and the whole in columns."""
    pool = AvgPooling(window=Window((2, 5), (1, 1), (1, 1), (0, 0), (0, 0)))
    assert _band(pool, IMAGE, rows=(1, 2)) is None
    assert _band(pool, IMAGE, rows=(1, 3)).reads == ((1, 4),)


def test_a_resize_in_integers_has_bands_where_its_weights_are_over_the_same_number():
    """The weights of this row alone are whole numbers, and thirds in the whole: products of scales would be rounded otherwise."""
    thirds = Resize((1, 4, 18, 5), (1.0, 1.0, 3.0, 1.0), "linear", "asymmetric")
    stored = _tensor("x", IMAGE).with_(dtype=DType.int8, quantization=Quantization((0.5,), (0,)))
    given, made = (stored,), (stored.with_(dims=thirds.dims),)
    assert thirds.band(given, made, 3, 4) is None
    halves, made = replace(NEAREST, mode="linear"), (stored.with_(dims=NEAREST.dims),)
    assert halves.band(given, made, 4, 8).reads == ((2, 5),)
    assert _band(thirds, IMAGE, rows=(3, 4)).reads == ((1, 2),)
