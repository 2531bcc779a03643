# SPDX-License-Identifier: MIT
"""Operators with inputs whose rows are tried in bands: layers of networks, and what has no samples of its own."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.activation import Clip, ClipBetween, PReLU
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Max, Mean, Min, Mul, Pow, Sum, Where
from aidge_build.operators.blocks import DepthToSpace
from aidge_build.operators.cast import Cast
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.operators.dropout import DropoutWithMask
from aidge_build.operators.dynamic import DynamicConv
from aidge_build.operators.flip_sign import FlipSign
from aidge_build.operators.integer import ConvInteger, QLinearConv
from aidge_build.operators.normalize import (
    LayerNormalization,
    LpNormalization,
    MeanVarianceNormalization,
    RMSNormalization,
)
from aidge_build.operators.pad import MODES, Pad, PadByInput
from aidge_build.operators.pool import MaxPoolingIndices
from aidge_build.operators.quantize import (
    DequantizeByInput,
    DequantizeLinear,
    QuantizeByInput,
    QuantizeLinear,
)
from aidge_build.operators.rearrange import Concat, Expand, Gather, Slice, Split, Tile
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.reformat import Reformat
from aidge_build.operators.resize import Resize
from aidge_build.operators.restated import Restated
from aidge_build.operators.sample import Sample, numbers
from aidge_build.operators.search import ArgMax, ArgMin
from aidge_build.operators.softmax import Softmax
from aidge_build.operators.sums_and_masks import CumSum
from aidge_build.operators.table import Table
from aidge_build.operators.view import Identity, Reshape, Squeeze, Transpose, Unsqueeze
from aidge_build.operators.window import Window

ONE, THREE = numpy.array([0.25], numpy.float32), numpy.array(3, numpy.int8)
BYTES = numbers(1, 4, 6, 5, low=-120, high=120).astype(numpy.int8)
IMAGE, OTHER = numbers(1, 4, 6, 5), numbers(1, 4, 6, 5, seed=1)
DOUBLED = {"dims": (1, 4, 12, 10), "scales": (1.0, 1.0, 2.0, 2.0)}
NEAREST = Resize(**DOUBLED, coordinates="asymmetric", nearest="floor")
UP = Window((2, 2), (2, 2), (1, 1), (0, 0), (0, 0))
SQUARE = Window((3, 3), (1, 1), (1, 1), (1, 1), (1, 1))

LAYERS = (
    Sample(Add(), (IMAGE, OTHER)),
    Sample(Add(), (IMAGE, numbers(1, 4, 1, 1))),
    Sample(Add(), (IMAGE, numbers(6, 5))),
    Sample(Mul(), (numbers(1, 4, 1, 5), IMAGE)),
    Sample(Mul(), (numbers(4, 1, 1), IMAGE)),
    *(Sample(one, (IMAGE, OTHER, numbers(5))) for one in (Max(), Min(), Sum(), Mean())),
    Sample(CumSum(1), (IMAGE,)),
    Sample(CumSum(2), (IMAGE,)),
    Sample(MeanVarianceNormalization((1,)), (IMAGE,)),
    Sample(ClipBetween(), (IMAGE, numpy.array(-0.5), None)),
    Sample(Pow(), (numbers(1, 4, 6, low=0.3), numbers(4, 1))),
    Sample(Where(), (numbers(1, 1, 6, 5) > 0, IMAGE, numbers(1, seed=1))),
    Sample(PReLU(), (IMAGE, numbers(4, 1, 1))),
    Sample(Clip(minimum=-0.5), (IMAGE,)),
    Sample(Table(tuple(range(127, -129, -1))), (IMAGE,)),
    Sample(Cast(DType.int32), (BYTES,)),
    Sample(FlipSign(), (BYTES,)),
    Sample(Reformat(), (IMAGE,)),
    Sample(Restated(), (IMAGE,)),
    Sample(Identity(), (IMAGE,)),
    Sample(DropoutWithMask(), (IMAGE,)),
    Sample(QuantizeLinear(dtype=DType.int8), (IMAGE.astype(numpy.float32), ONE)),
    Sample(QuantizeLinear(axis=2, dtype=DType.int8), (IMAGE.astype(numpy.float32), numpy.full(6, 0.5, numpy.float32))),
    Sample(DequantizeLinear(axis=1), (BYTES, numpy.arange(1, 5, dtype=numpy.float32))),
    Sample(QuantizeByInput(axis=1), (IMAGE.astype(numpy.float32), numpy.arange(1, 5, dtype=numpy.float32))),
    Sample(DequantizeByInput(dtype=DType.float32), (BYTES, ONE)),
    Sample(DequantizeByInput(3, 5, DType.float32), (BYTES, numbers(1, 4, 6, 1, low=0.1).astype(numpy.float32))),
    Sample(BatchNormalization(), (IMAGE, *(numbers(4, low=0.3, seed=seed) for seed in range(4)))),
    Sample(Softmax(1), (IMAGE,)),
    Sample(Softmax(2), (IMAGE,)),
    Sample(Softmax(-1), (IMAGE,)),
    Sample(Softmax(1, until_end=True), (IMAGE,)),
    Sample(Softmax(3, until_end=True), (IMAGE,)),
    Sample(LpNormalization(1), (IMAGE,)),
    Sample(LpNormalization(2), (IMAGE,)),
    Sample(RMSNormalization(3), (IMAGE, numbers(5, seed=1))),
    Sample(LayerNormalization(3, has_statistics=True), (IMAGE, numbers(5, seed=1), numbers(5, seed=2))),
    Sample(LayerNormalization(2), (IMAGE, numbers(6, 5, seed=1), None)),
    Sample(ReduceMean((1,), True), (IMAGE,)),
    Sample(ReduceMean((1,), False), (IMAGE,)),
    Sample(ReduceMean((-1,), False), (IMAGE,)),
    Sample(ReduceMean((2, 3), True), (IMAGE,)),
    Sample(ArgMax(1), (IMAGE,)),
    Sample(ArgMax(1, keep=False), (IMAGE,)),
    Sample(ArgMin(3, keep=False, last=True), (IMAGE,)),
    Sample(Concat(1), (IMAGE, OTHER)),
    Sample(Concat(2), (IMAGE, OTHER)),
    Sample(Concat(3), (IMAGE, OTHER, numbers(1, 4, 6, 2))),
    Sample(Split(1, (1, 3)), (IMAGE,)),
    Sample(Split(2, (1, 5)), (IMAGE,)),
    Sample(Slice((0, 1, 0, 0), (1, 2, 6, 5), (1, 2, 1, 1)), (IMAGE,)),
    Sample(Slice((0, 0, 1, 4), (1, 4, 3, 5), (1, 1, 2, -1)), (IMAGE,)),
    Sample(Slice((0, 0, 5, 0), (1, 4, 6, 5), (1, 1, -1, 1)), (IMAGE,)),
    Sample(Gather(1), (IMAGE, numpy.array([3, 0]))),
    Sample(Gather(1), (IMAGE, numpy.array(3))),
    Sample(Gather(3), (IMAGE, numpy.array([[3, 0]]))),
    Sample(Expand((1, 4, 6, 5)), (numbers(1, 4, 1, 5),)),
    Sample(Expand((2, 4, 6, 5)), (numbers(1, 4, 6, 1),)),
    Sample(Tile((1, 2, 1, 3)), (IMAGE,)),
    Sample(Tile((1, 2, 2, 3)), (IMAGE,)),
    *(Sample(Pad((0, 0, 2, 1), (0, 1, 1, 0), mode), (IMAGE,)) for mode in MODES),
    *(Sample(Pad((0, 0, -1, 1), (0, 1, 0, 0), mode), (IMAGE,)) for mode in MODES),
    Sample(Pad((0, 0, 3, -1), (0, 0, -2, 2), value=1.5), (IMAGE,)),
    Sample(PadByInput((0, 0, 1, 1), (0, 0, 2, 0)), (IMAGE, numpy.array([0.7]))),
    Sample(DepthToSpace(2), (IMAGE,)),
    Sample(Reshape((1, 4, 6, 5, 1)), (IMAGE,)),
    Sample(Reshape((1, 4, 5, 6)), (IMAGE,)),
    Sample(Squeeze((3,)), (numbers(1, 4, 6, 1),)),
    Sample(Unsqueeze((3,)), (numbers(1, 4, 6),)),
    Sample(Unsqueeze((2,)), (numbers(1, 4, 6),)),
    Sample(Transpose((1, 0, 2, 3)), (IMAGE,)),
    Sample(Transpose((0, 1, 3, 2)), (IMAGE,)),
    *(
        Sample(Resize(**DOUBLED, mode=mode, coordinates=coordinates), (IMAGE,))
        for mode in ("nearest", "linear")
        for coordinates in ("half_pixel", "asymmetric", "align_corners")
    ),
    *(
        Sample(Resize((1, 4, rows, 5), (1.0, 1.0, rows / 6, 1.0), coordinates="asymmetric", nearest="floor"), (IMAGE,))
        for rows in (2, 3, 9, 18)
    ),
    Sample(Resize((1, 4, 18, 5), (1.0, 1.0, 3.0, 1.0), "linear", "asymmetric"), (IMAGE,)),
    Sample(Resize((1, 4, 6, 10), (1.0, 1.0, 1.0, 2.0), "linear"), (IMAGE,)),
    Sample(
        ConvTranspose(kernel=(2, 2), strides=(2, 2), dilations=(1, 1), pads_begin=(0, 0), spatial=(12, 10)),
        (IMAGE, numbers(4, 3, 2, 2), numbers(3)),
    ),
    Sample(
        ConvTranspose(kernel=(2, 1), strides=(3, 1), dilations=(2, 1), pads_begin=(2, 0), spatial=(17, 5)),
        (IMAGE, numbers(4, 3, 2, 1)),
    ),
    Sample(
        ConvTranspose(kernel=(3, 1), strides=(2, 1), dilations=(1, 1), pads_begin=(1, 0), spatial=(12, 5)),
        (IMAGE, numbers(4, 3, 3, 1)),
    ),
    Sample(ConvInteger(SQUARE), (BYTES, BYTES[:, :, :3, :3], THREE)),
    Sample(
        QLinearConv(SQUARE),
        (
            BYTES,
            ONE,
            THREE,
            BYTES[:, :, :3, :3],
            ONE,
            numpy.array(0, numpy.int8),
            ONE,
            numpy.array(7, numpy.int8),
        ),
    ),
    Sample(
        DynamicConv(window=SQUARE),
        (BYTES, BYTES[:, :, :3, :3], THREE, ONE[0].reshape(()), ONE),
    ),
    Sample(MaxPoolingIndices(window=UP), (IMAGE,)),
)
