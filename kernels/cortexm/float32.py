# SPDX-License-Identifier: MIT
"""float32 layers: the stream of weights, and the inner blocks in assembly."""

from __future__ import annotations

import numpy

from aidge_build.backend.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.export.call import Constant
from aidge_build.export.node import ExportNode
from aidge_build.graph.dtype import DType

from .assembly import Routine
from .conditions import CONSTANT_PARAMETERS
from .packing import group_starts

PIXELS_PARAMETERS = ("const aidge_cortexm_table_float32 *table, const int32_t *stream, int32_t runs, const int32_t *end, "
                     "const float *limits")
ROW_PARAMETERS = ("const float *input, float *output, const int32_t *stream, int32_t features, const int32_t *end, "
                  "const float *limits")
SAVED_BYTES = 36 + 64


def _quantized(view: NodeView) -> str:
    tensors = [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]
    return "a tensor is quantized" if any(tensor.quantization for tensor in tensors) else ""


REAL = Predicate("no tensor is quantized", _quantized)


def float_spec(*predicates: Predicate, form: str = CHANNELS_LAST) -> ImplSpec:
    """float32 data, weights and bias; the FPU of a core with DSP instructions, so that fused multiply-add exists."""
    return ImplSpec(inputs=(IOSpec(DType.float32, form), IOSpec(DType.float32, ANY), IOSpec(DType.float32, ANY)),
                    outputs=(IOSpec(DType.float32, form),), features=frozenset({"dsp", "fpu"}),
                    predicates=(REAL, CONSTANT_PARAMETERS, *predicates))


class LinearFloat32(ExportNode):
    """What convolutions and fully connected layers of float32 share."""

    def stream(self, rows: numpy.ndarray, group: int) -> Constant:
        """Weights [outputs, taps] in the order of float32.h."""
        bias = self.inputs[2].data if len(self.inputs) > 2 and self.inputs[2] is not None else numpy.zeros(len(rows))
        bias, rows = bias.astype(numpy.float32), rows.astype(numpy.float32)
        parts = []
        for first in group_starts(len(rows), group):
            block = slice(first, first + group)
            parts += [numpy.array([4 * first], numpy.int32), bias[block].view(numpy.int32),
                      numpy.ascontiguousarray(rows[block].T).ravel().view(numpy.int32)]
        return Constant("stream", numpy.concatenate(parts))

    def limits(self) -> Constant:
        """Lowest and highest, and for each 1 if it is finite."""
        limits = numpy.array([self.operator.minimum, self.operator.maximum], numpy.float32)
        return Constant("limits", numpy.concatenate([limits, numpy.isfinite(limits)]).astype(numpy.float32))


def _limit(code: Routine, limits: str, registers: range) -> None:
    """Results between the limits, as far as there are any (NaN stays); labels 7 and 8."""
    code(f"vldmia {limits}, {{{{s0-s3}}}}")
    for limit, condition in ((0, "mi"), (1, "gt")):
        code(f"vmov lr, s{2 + limit}")
        code("cmp lr, #0")
        code(f"beq {7 + limit}f")
        for register in registers:
            code(f"vcmp.f32 s{register}, s{limit}")
            code("vmrs APSR_nzcv, fpscr")
            code(f"it {condition}")
            code(f"vmov{condition}.f32 s{register}, s{limit}")
        code.label(7 + limit)


def pixels_text() -> str:
    """4 pixels x 4 channels: all groups of channels."""
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("vpush {{s16-s31}}")
    code(f"ldr r12, [sp, #{SAVED_BYTES}]", "limits")
    code.label(1, "a group of 4 channels")
    code("ldr r11, [r1], #4", "4 * first channel")
    code("vldmia r1!, {{s16-s19}}", "biases")
    for register in range(20, 32):
        code(f"vmov.f32 s{register}, s{register - 4}")
    code("add r10, r0, #16")
    code("mov r9, r2")
    code.label(2, "a run of neighbouring values")
    code("ldm r10!, {{r4-r8}}", "4 sources, length")
    code("subs r8, r8, #4")
    code("blo 4f")
    code.label(3, "4 values of 4 pixels")
    for _ in range(2):
        for pixel in range(4):
            code(f"vldmia r{4 + pixel}!, {{{{s{2 * pixel}-s{2 * pixel + 1}}}}}")
        code("vldmia r1!, {{s8-s15}}", "weights of 2 values for 4 channels")
        for value in range(2):
            for pixel in range(4):
                for channel in range(4):
                    code(f"vfma.f32 s{16 + 4 * pixel + channel}, s{2 * pixel + value}, s{8 + 4 * value + channel}")
    code("subs r8, r8, #4")
    code("bhs 3b")
    code.label(4)
    code("adds r8, r8, #4")
    code("beq 6f")
    code.label(5, "the values left over")
    for pixel in range(4):
        code(f"vldmia r{4 + pixel}!, {{{{s{pixel}}}}}")
    code("vldmia r1!, {{s8-s11}}")
    for pixel in range(4):
        for channel in range(4):
            code(f"vfma.f32 s{16 + 4 * pixel + channel}, s{pixel}, s{8 + channel}")
    code("subs r8, r8, #1")
    code("bne 5b")
    code.label(6)
    code("subs r9, r9, #1")
    code("bne 2b")
    _limit(code, "r12", range(16, 32))
    code("ldm r0, {{r4-r7}}", "where the pixels go")
    for pixel in range(4):
        code(f"add r{4 + pixel}, r{4 + pixel}, r11")
        code(f"vstmia r{4 + pixel}, {{{{s{16 + 4 * pixel}-s{19 + 4 * pixel}}}}}")
    code("cmp r1, r3")
    code("bne 1b")
    code("vpop {{s16-s31}}")
    code("pop {{r4-r11, pc}}")
    return code.function("aidge_cortexm_pixels_float32", PIXELS_PARAMETERS,
                         "4 pixels x 4 channels of float32, fused multiply-add.", "")


def row_text() -> str:
    """One row of a fully connected layer, 8 outputs at a time."""
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("vpush {{s16-s31}}")
    code(f"ldr r12, [sp, #{SAVED_BYTES}]", "end")
    code(f"ldr r11, [sp, #{SAVED_BYTES + 4}]", "limits")
    code.label(1, "a group of 8 outputs")
    code("ldr r10, [r2], #4", "4 * first output")
    code("vldmia r2!, {{s24-s31}}", "biases")
    code("mov r4, r0")
    code("subs r5, r3, #4")
    code("blo 4f")
    code.label(3, "4 inputs")
    code("vldmia r4!, {{s0-s3}}")
    for pair in range(2):
        code("vldmia r2!, {{s4-s19}}", "weights of 2 inputs for 8 outputs")
        for value in range(2):
            for output in range(8):
                code(f"vfma.f32 s{24 + output}, s{2 * pair + value}, s{4 + 8 * value + output}")
    code("subs r5, r5, #4")
    code("bhs 3b")
    code.label(4)
    code("adds r5, r5, #4")
    code("beq 6f")
    code.label(5, "the inputs left over")
    code("vldmia r4!, {{s0}}")
    code("vldmia r2!, {{s4-s11}}")
    for output in range(8):
        code(f"vfma.f32 s{24 + output}, s0, s{4 + output}")
    code("subs r5, r5, #1")
    code("bne 5b")
    code.label(6)
    _limit(code, "r11", range(24, 32))
    code("add r4, r1, r10")
    code("vstmia r4, {{s24-s31}}")
    code("cmp r2, r12")
    code("bne 1b")
    code("vpop {{s16-s31}}")
    code("pop {{r4-r11, pc}}")
    return code.function("aidge_cortexm_row_of_fc_float32", ROW_PARAMETERS, "A row of inputs x 8 outputs of float32.", "")
