# SPDX-License-Identifier: MIT
"""Pools that take in their rows part by part: all parts of one pool as one call, for the harness of any library."""

from __future__ import annotations

import functools
import itertools
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy
from random_tensors import Randomness

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.terms import plus
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.pool import AvgPooling, AvgPoolingHalvesUp, GlobalAveragePooling, GlobalMaxPooling, MaxPooling
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.window import Window


def with_parts(case_class: type) -> type:
    """The cases of a harness, whose one call makes that of each part between `cuts`."""

    @dataclass(frozen=True, eq=False)
    class Parts(case_class):
        cuts: tuple[int, ...] = ()

        def part(self, view: NodeView, first: int, last: int) -> NodeView:
            band = view.operator.part(view.inputs, view.outputs, first, last)
            assert band is not None and band.reads == ((first, last),)
            return view.of_band(band, None, max(last - first for first, last in zip(self.cuts, self.cuts[1:])))

        @functools.cached_property
        def kernel(self) -> Kernel:
            return case_class(self.part(self.view, *self.cuts[:2]), self.values).kernel

        @functools.cached_property
        def call(self) -> Call:
            parts = [self.part(self.stored, *pair) for pair in zip(self.cuts, self.cuts[1:])]
            calls = [self.kernel.node_class(part).call() for part in parts]
            assert len({(one.function, one.sources, one.texts) for one in calls}) == 1
            for one in calls[1:]:
                for mine, other in zip(one.constants, calls[0].constants, strict=True):
                    assert mine.name == other.name and (mine.values == other.values).all()
            demands = {self.kernel.node_class.demands(part) for part in parts}
            assert len(demands) == 1 and all(one.keeps_scratch for one in demands)
            is_real = self.view.inputs[0].dtype is DType.float32
            whole = case_class(self.view, self.values).call if is_real else None
            return chained(calls, self.stored, self.cuts, whole)

        @functools.cached_property
        def scratch_bytes(self) -> int:
            return self.kernel.node_class.demands(self.part(self.stored, *self.cuts[:2])).scratch_bytes

    return Parts


def chained(calls: Sequence[Call], view: NodeView, cuts: Sequence[int], whole: Call | None) -> Call:
    """One call that makes all of them, each with its rows. Where the bits are not those of the `whole`, the output is far off."""
    every = [*calls, whole] if whole else calls
    structs = [argument for call in every for argument in call.arguments if isinstance(argument, Struct)]
    name = f"{calls[0].function}_{zlib.crc32(repr((cuts, structs)).encode())}"
    data, output = view.inputs[0], view.outputs[0]
    per_row, size = data.elements // data.dims[2], output.size_bytes
    kept = list(calls[0].constants)
    own = [Constant(f"whole_{one.name}", one.values) for one in whole.constants] if whole else []
    parameters = [f"const {data.dtype.c_type} *in", f"{output.dtype.c_type} *out", "void *scratch"]
    parameters += [f"const {DType(one.values.dtype.name).c_type} *{one.name}" for one in (*kept, *own)]
    lines, bodies = [f"static void {name}({', '.join(parameters)})", "{"], []
    for number, (call, first) in enumerate(zip(every, (*cuts[:-1], 0))):
        given = []
        for position, argument in enumerate(call.arguments):
            match argument:
                case Struct(kind, fields):
                    values = ("{" + ", ".join(map(str, v)) + "}" if isinstance(v, tuple) else str(v) for v in fields.values())
                    lines.append(f"    static const {kind} s{number}_{position} = {{{', '.join(values)}}};")
                    given.append(f"&s{number}_{position}")
                case Constant(constant):
                    given.append(f"whole_{constant}" if call is whole else constant)
                case Literal(value):
                    given.append(str(value))
                case Input():
                    given.append(plus("in", first * per_row))
                case Output():
                    given.append("out" if number >= len(calls) - 1 else "0")  # of the parts only the last may write
                case Scratch():
                    given.append("scratch")
        bodies.append(f"    {call.function}({', '.join(given)});")
    if whole:
        lines.append(f"    static uint8_t once[{size}];")
        bodies.insert(len(calls), f"    memcpy(once, out, {size});")
        bodies.append(f"    if (memcmp(once, out, {size}) != 0) {{\n        memset(out, 127, {size});\n    }}")
    return replace(
        calls[0],
        function=name,
        sources=tuple(dict.fromkeys(path for call in every for path in call.sources)),
        texts=(*(whole.texts if whole else ()), *calls[0].texts, "\n".join([*lines, *bodies, "}"])),
        arguments=(Input(0), Output(0), Scratch(), *kept, *own),
    )


# Channels, spatial dims, rows at which a part begins.
SHAPES = (
    (64, (25, 5), (0, 1, 2, 10, 24, 25)),
    (64, (8, 8), (0, 3, 8)),
    (17, (7, 7), tuple(range(8))),
    (5, (9, 1), (0, 2, 3, 9)),
    (8, (3, 3), (0, 3)),
    (37, (17, 19), (0, 1, 16, 17)),
    (21, (31, 11), tuple(range(32))),
    (4, (300,), (0, 299, 300)),
    (67, (11,), (0, 1, 4, 5, 11)),
    (12, (6,), (0, 5, 6)),
    (9, (6, 7), (0, 1, 3, 4, 6)),
    (1, (5, 3), (0, 2, 5)),
    (3, (3,), (0, 1, 2, 3)),
    (6, (2, 4), (0, 1, 2)),
)
CLAMPS = ((-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.5))
STRIDES = (0, 1, 2, 9)  # 0: no window; the others decide in which order values are added up


def float_means(case, case_class: type) -> list:
    """Means of float32 over whole maps."""
    made = []
    for seed, (channels, spatial, cuts) in enumerate(SHAPES):
        random, rank = Randomness(seed), len(spatial)
        window = Window(spatial, (1,) * rank, (1,) * rank, (0,) * rank, (0,) * rank)
        low, high = random.choice((-math.inf, math.inf), (-0.01, 0.02))
        operator = random.choice(AvgPooling(low, high, window), GlobalAveragePooling(low, high))
        one = case(operator, [random.real(1, channels, *spatial)], [random.float32(1, channels, *spatial)])
        made.append(case_class(one.view, one.values, cuts=cuts))
    return made


def maxima(case, case_class: type) -> list:
    """Largest values of whole maps."""
    made = []
    for seed, (channels, spatial, cuts) in enumerate(SHAPES):
        random, rank = Randomness(seed), len(spatial)
        data, (low, high) = random.data(1, channels, *spatial), random.choice(*CLAMPS)
        window = Window(spatial, (1,) * rank, (1,) * rank, (0,) * rank, (0,) * rank)
        operator = random.choice(MaxPooling(low, high, window), GlobalMaxPooling(low, high))
        values = numpy.minimum(random.int8(*data.dims), random.choice(127, -20, -120)).astype(numpy.int8)
        one = case(operator, [data], [values], quantization=data.quantization)
        made.append(case_class(one.view, one.values, cuts=cuts))
    return made


def means(case, case_class: type, double: bool) -> list:
    """Means over whole maps under one of the contracts, with equal scales and with others."""
    made = []
    strides = STRIDES[::3] if double else STRIDES
    for seed, (stride, (channels, spatial, cuts)) in enumerate(itertools.product(strides, SHAPES)):
        random = Randomness(seed)
        data, (low, high) = random.data(1, channels, *spatial), random.choice(*CLAMPS)
        values, is_tied = random.int8(*data.dims), seed % 3 > 0
        if is_tied:
            values, (low, high) = between_levels(values, data.quantization.zero_point), CLAMPS[0]
        ones, none = (1,) * len(spatial), (0,) * len(spatial)
        window = Window(spatial, (max(1, stride),) * len(spatial), ones, none, none)
        operator = AvgPooling(low, high, window) if stride else GlobalAveragePooling(low, high)
        scale = float(data.quantization.scale) * (1 if is_tied or double else 0.61)
        zero_point = data.quantization.zero_point if is_tied or double else 3
        quantization = replace(per_tensor(scale, zero_point), rounding="double" if double else "onnx")
        one = case(operator, [data], [values], quantization=quantization)
        made.append(case_class(one.view, one.values, cuts=cuts))
    return made + (double_means(case, case_class) if double else maxima(case, case_class))


def double_means(case, case_class: type) -> list:
    """Means that only the contract `double` has: by one factor, and of bytes, halves upwards."""
    made = []
    for seed, (channels, spatial, cuts) in enumerate(SHAPES):
        random, rank = Randomness(seed), len(spatial)
        data = random.data(1, channels, *spatial)
        scale = float(data.quantization.scale) * random.choice(1, 0.3, 3.7)
        window = Window(spatial, (1,) * rank, (1,) * rank, (0,) * rank, (0,) * rank)
        operators = [(ReduceMean(axes=tuple(range(2, 2 + rank))), per_tensor(scale, random.integer(-128, 127)))]
        if rank == 2:
            operators.append((AvgPoolingHalvesUp(*random.choice(*CLAMPS), window), data.quantization))
        for operator, quantization in operators:
            given = between_levels(random.int8(*data.dims), -128 if rank == 2 else 0)
            one = case(operator, [data], [given], quantization=replace(quantization, rounding="double"))
            made.append(case_class(one.view, one.values, cuts=cuts))
    return made


def between_levels(values: numpy.ndarray, zero_point: int) -> numpy.ndarray:
    """Values with means in the middle between two, where their number is even: what float32 rounds decides."""
    rows = values.reshape(values.shape[1], -1).astype(numpy.int64)
    count = rows.shape[1]
    wanted = (count // 2 - (rows - zero_point).sum(1)) % count
    for row, more in zip(rows, wanted):
        for place in range(count):
            step = min(int(more), 127 - int(row[place]))
            row[place] += step
            more -= step
    return rows.astype(numpy.int8).reshape(values.shape)
