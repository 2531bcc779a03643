# SPDX-License-Identifier: MIT
"""The fixed-point audio front end: a function generated for the length, which calls one pass for each factor of four."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.kernel_kit.fourier import radices, reversed_digits
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.log_mel import fixed_turns, logarithms, spare_bits


def _words(turns: numpy.ndarray) -> numpy.ndarray:
    """Roots [..., 2] as words: the cosine in the low half."""
    halves = turns.reshape(-1, 2).astype(numpy.int16).view(numpy.uint16).astype(numpy.uint32)
    return halves[:, 0] | halves[:, 1] << 16


def _roots(points: int) -> numpy.ndarray:
    """The roots in the order in which the passes read them, then those that take the spectrum apart."""
    found, length = [], 1
    for radix in radices(points):
        if length > 1:
            found.append(fixed_turns(length * radix, numpy.arange(length)[:, None] * numpy.arange(1, radix)))
        length *= radix
    found.append(fixed_turns(2 * points, numpy.arange(1, points // 2) + points // 2))
    return numpy.concatenate([_words(turns) for turns in found])


def _bands(filters: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """First frequency and number of frequencies of each band, from its first weight that is not 0 to its last; those weights."""
    places, weights = [], []
    for row in filters:
        used = numpy.flatnonzero(row)
        first, last = (int(used[0]), int(used[-1]) + 1) if used.size else (0, 0)
        places.append((first, last - first))
        weights.append(row[first:last])
    joined = numpy.concatenate(weights) if weights else numpy.zeros(0)
    return numpy.array(places, numpy.uint16).reshape(-1), (joined if joined.size else numpy.zeros(1)).astype(numpy.uint16)


@kernel(
    "LogMel",
    ImplSpec(
        inputs=(IOSpec(DType.int16, ROW_MAJOR), IOSpec(DType.int16, ANY), IOSpec(DType.uint16, ANY)),
        outputs=(IOSpec(DType.any, ROW_MAJOR),),
        predicates=(CONSTANT_PARAMETERS,),
        rounding="any",
    ),
)
class LogMel(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * (view.operator.length + 2))

    def call(self) -> Call:
        operator, (rows, samples) = self.operator, self.inputs[0].dims
        window, filters = self.inputs[1].data, self.inputs[2].data
        points, levels = operator.length // 2, operator.levels
        places, weights = _bands(filters)
        shape = {
            "rows": rows,
            "samples": samples,
            "frames": operator.frames(samples, window.size),
            "step": operator.step,
            "taps": window.size,
            "points": points,
            "bands": len(filters),
        }
        name = f"aidge_ref_log_mel_{operator.length}_{operator.to.name}"
        return Call(
            name,
            ("int16/log_mel.h",),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("window", window),
                Constant("order", reversed_digits(radices(points)).astype(numpy.uint16)),
                Constant("roots", _roots(points)),
                Constant("places", places),
                Constant("weights", weights),
                Constant("curve", logarithms().astype(numpy.int32)),
                Constant(
                    "levels", numpy.array([levels.multiplier, levels.offset, levels.shift, levels.low, levels.high], numpy.int32)
                ),
                Constant("floor", numpy.array([levels.floor], numpy.uint64)),
                Struct("aidge_kit_log_mel_shape", shape),
            ),
            texts=(_text(name, operator.length, operator.to),),
        )


def _text(name: str, length: int, dtype: DType) -> str:
    points, passes, done = length // 2, [], 1
    for radix in radices(points):
        first = done == 1
        passes.append(
            f"aidge_kit_log_mel_first4(z, {points});"
            if first
            else f"root = aidge_kit_log_mel_{radix}(z, root, {points}, {done});"
        )
        done *= radix
    calls = "\n".join(f"            {one}" for one in passes)
    return f"""/* Frames of int16 samples to stored logarithms of the power in bands: transforms of {length} values. */
static void {name}(const int16_t *input, {dtype.c_type} *output, void *scratch, const int16_t *window,
    const uint16_t *order, const uint32_t *roots, const uint16_t *places, const uint16_t *weights, const int32_t *curve,
    const int32_t *levels, const uint64_t *floor, const aidge_kit_log_mel_shape *shape)
{{
    int32_t *z = (int32_t *)scratch;
    uint32_t *powers = (uint32_t *)scratch;
    int32_t row, number, band;
    for (row = 0; row < shape->rows; row++) {{
        const int16_t *frame = input + row * shape->samples;
        for (number = 0; number < shape->frames; number++) {{
            const uint32_t *root = roots;
            const uint16_t *place = places;
            const uint16_t *weight = weights;
            int32_t bits;
            aidge_kit_log_mel_load(frame, window, z, order, shape->taps, {points}, {15 - spare_bits(length)});
{calls}
            bits = aidge_kit_bits(aidge_kit_log_mel_part(z, root, {points}));
            aidge_kit_log_mel_powers(z, powers, {points + 1}, 31 - bits);
            for (band = 0; band < shape->bands; band++) {{
                const uint64_t sum = aidge_kit_log_mel_band(powers + place[0], weight, place[1]);
                const int32_t logarithm = aidge_kit_log_power(sum, 2 * bits - 30, *floor, curve);
                *output++ = ({dtype.c_type})aidge_kit_log_mel_level(logarithm, levels);
                weight += place[1];
                place += 2;
            }}
            frame += shape->step;
        }}
    }}
}}"""
