# SPDX-License-Identifier: MIT
"""float32 Gelu, four values at a time: x times the share of a normal distribution below x.

The share below -|x| is 2^q(|x|) with a polynomial q, and the share below |x| is 1 less it: there is no quotient, and the larger
share is as exact as the smaller one. The polynomial is a fit of the least largest error of the share, 4e-8. 2^q is half of
2^(q + 1); at 0 both polynomials are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.float_steps import VECTORS

from ..core.assembly import Assembler, function

NAME = "aidge_helium_gelu_float32"
LIMIT = 5.8  # from this size on the share is that of LIMIT, 3e-9
# q + 1 less its constant, 0, and half of 2^f for |f| <= 1/2; from the highest power on
SHARE = (8.85818463e-06, -5.76952953e-05, -0.000406985317, 0.0073631322, -0.052666612, -0.459164321, -1.15110886)
POWER = (0.000663232291, 0.00483578816, 0.0277536735, 0.120111205, 0.346573502, 0.5)
NUMBERS = numpy.array([SHARE[0], POWER[0], LIMIT, *SHARE[1:], *POWER[1:]], numpy.float32)


def gelu_text() -> str:
    """Returns the C text: 27 instructions for 4 values."""
    share, power = [f"%p{degree}" for degree in range(6, 0, -1)], [f"%c{degree}" for degree in range(4, -1, -1)]
    emit = Assembler()
    emit("%enter", "ldrd %first, %second, [%numbers]", "ldr %limit, [%numbers, #8]", "add %numbers, %numbers, #12")
    emit("vdup.32 %q.first, %first", "vdup.32 %q.second, %second", "vdup.32 %q.limit, %limit", "vmov.f32 %q.one, #1.0")
    emit(f"ldm %numbers, {{{', '.join((*share, *power))}}}", "wlstp.32 lr, %count, %done")
    emit.label("four")
    emit("vldrw.u32 %q.x, [%x], #16", "vabs.f32 %q.size, %q.x", "vmin.u32 %q.size, %q.size, %q.limit")
    emit("vmov %q.sum, %q.first", *(f"vfmas.f32 %q.sum, %q.size, {one}" for one in share), "vmul.f32 %q.sum, %q.sum, %q.size")
    emit("vcvtn.s32.f32 %q.whole, %q.sum", "vcvt.f32.s32 %q.size, %q.whole", "vsub.f32 %q.sum, %q.sum, %q.size")
    emit("vmov %q.size, %q.second", *(f"vfmas.f32 %q.size, %q.sum, {one}" for one in power))
    emit("vshl.i32 %q.whole, %q.whole, #23", "vadd.i32 %q.size, %q.size, %q.whole", why="times a power of two")
    emit("vpt.f32 ge, %q.x, zr", "vsubt.f32 %q.size, %q.one, %q.size")
    emit("vmul.f32 %q.size, %q.size, %q.x", "vstrw.32 %q.size, [%y], #16", "letp lr, %four")
    emit.label("done")
    emit("%leave")
    parameters = "const float *x, float *y, const float *numbers, int32_t count"
    return function(NAME, "y = x times the share of a normal distribution below x. May work in place.", parameters, emit.lines)


@dataclass(frozen=True)
class GeluSteps:
    """The operations of the layer (`Call.steps`)."""

    def forward(self, data: numpy.ndarray) -> tuple[numpy.ndarray, ...]:
        """Returns the result."""
        size = numpy.minimum(numpy.nan_to_num(numpy.abs(data), nan=LIMIT), numpy.float32(LIMIT))
        total = VECTORS.kept(VECTORS.polynomial(numpy.array(SHARE, numpy.float32), size) * size)
        whole = numpy.rint(total)
        share = numpy.ldexp(VECTORS.polynomial(numpy.array(POWER, numpy.float32), total - whole), whole.astype(numpy.int32))
        return (VECTORS.kept(numpy.where(data >= 0, numpy.float32(1) - share, share) * data),)
