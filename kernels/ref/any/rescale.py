# SPDX-License-Identifier: MIT
"""Stored values in another scale, perhaps in another type and within bounds: one pass, in integers where these give the same."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.tables import results_of_levels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.straight_levels import shifted_line

from ..shared.each import Expression, each

_HALFWORDS = (DType.int16, DType.uint16)
_TYPES = (DType.int8, DType.uint8, *_HALFWORDS)


def _no_halfwords(view: NodeView) -> str:
    types = [tensor.dtype for tensor in (*view.inputs, *view.outputs)]
    if not set(types) <= set(_TYPES):
        return f"{' to '.join(one.name for one in types)}, wants 8 or 16 bits"
    return "" if set(types) & set(_HALFWORDS) else "every tensor has 8 bits"


def _clamps(view: NodeView) -> str:
    return "" if view.operator.type == "Clip" and not view.operator.clamps else "bounds"


def _less(text: str, number: int) -> str:
    """The difference in C; a 0 is left out, as MISRA C:2012 calls it dead code (rule 2.2)."""
    return f"{text} - ({number})" if number else text


_SIDE = IOSpec(DType.any, SAME)
_PREDICATES = (Predicate("16 bits on one side", _no_halfwords), ALL_QUANTIZED, Predicate("no bounds", _clamps))


@kernel("Clip", ImplSpec(_SIDE, predicates=_PREDICATES))
class Rescale(ElementWise):
    def call(self) -> Call:
        expression = None if self.view.any_weights else self._in_integers()  # a replaced scale may want another kind
        return each(expression or self._in_float(), self.inputs, (0,), self.outputs[0])

    def _in_integers(self) -> Expression | None:
        """One product and a shift where that gives each stored value what the operator does. Else a table of what bytes become,
        or a product that is at most one level too low, and where each level begins."""
        (source,), (result,) = self.inputs, self.outputs
        low, high = source.dtype.range
        values, results = numpy.arange(low, high + 1, dtype=numpy.int64), results_of_levels(self.operator, source, result)
        lowest, highest = result.dtype.range
        steps = (
            "const int32_t y = (a * k[0] + k[1]) >> k[2];",
            f"const int32_t z = y < {lowest} ? {lowest} : y > {highest} ? {highest} : y;",
        )
        line = shifted_line(values, results, lowest, highest)
        if line is not None:
            return Expression("rescale_line", f"({result.dtype.c_type})z", steps, integers=line)
        if source.dtype.size_bytes == 1:
            value = f"({result.dtype.c_type})k[{_less('a', low)}]"
            return Expression("rescale_table", value, integers=tuple(results.tolist()))
        line = shifted_line(values, results, lowest, highest, below=1) if result.dtype.size_bytes == 1 else None
        if line is None:
            return None
        begins = low + numpy.searchsorted(results, numpy.arange(lowest + 1, highest + 2))
        value = f"({result.dtype.c_type})(z + (a >= k[{_less('3 + z', lowest)}]))"
        return Expression("rescale_steps", value, steps, integers=(*line, *begins.tolist()))

    def _in_float(self) -> Expression:
        (source,), (result,) = self.inputs, self.outputs
        given, made = source.quantization, result.quantization
        low, high = result.dtype.range
        steps = (
            "const float x = (float)(a - k[0]) * aidge_kit_float_of((uint32_t)k[2]);",
            "float y = rintf(x / aidge_kit_float_of((uint32_t)k[3]));",
            f"const float low = (float)({low} - k[1]);",
            f"const float high = (float)({high} - k[1]);",
            "y = y < low ? low : y > high ? high : y;",
        )
        scales = numpy.array([given.scale, made.scale], numpy.float32).view(numpy.int32).tolist()
        integers = (given.zero_point, made.zero_point, *scales)
        return Expression(
            "rescale_float",
            f"({result.dtype.c_type})((int32_t)y + k[1])",
            steps,
            sources=("kit/common_exponent.h",),
            integers=integers,
        )
