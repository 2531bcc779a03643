# SPDX-License-Identifier: MIT
"""float32 ReduceMax, ReduceMin, ReduceSum and ReduceMean: four results at a time, each of its values in their order."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE
from ..rows.reductions import NEIGHBOURS, sizes_of

_SIDE = IOSpec(DType.float32, ROW_MAJOR)


@dataclass(frozen=True)
class _Kind:
    """How a value v comes to the result s, in lanes; `begin` and `end`: lines around the loop over the values."""

    start: str
    lanes: str
    begin: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    quotient: str = ""


def _extreme(start: str, name: str) -> _Kind:
    """The instructions leave out what is no number; the largest magnitude, as bits, shows whether there was any."""
    magnitude = "vmaxq_u32(magnitudes, vshlq_n_u32(vreinterpretq_u32_f32(v), 1))"
    return _Kind(
        start,
        f"s = v{name}nmq_f32(s, v); magnitudes = {magnitude};",
        ("uint32x4_t magnitudes = vdupq_n_u32(0u);",),
        ("s = vpselq_f32(vdupq_n_f32(NAN), s, vcmphiq_n_u32(magnitudes, 0xFF000000u));",),
    )


_SUM = _Kind("0.0f", "s = vaddq_f32(s, v);")
_KINDS = {
    "ReduceMax": _extreme("-INFINITY", "max"),
    "ReduceMin": _extreme("INFINITY", "min"),
    "ReduceMean": _Kind(_SUM.start, _SUM.lanes, quotient=" / (float)shape->count"),
    "ReduceSum": _SUM,
}


@kernel(sorted(_KINDS), ImplSpec(_SIDE, features=MVE, predicates=(REAL, NEIGHBOURS)))
class ReduceFloat32(KernelNode):
    def call(self) -> Call:
        outer, count, inner = sizes_of(self.view)
        blocks, outputs = (1, outer) if inner == 1 else (outer, inner)
        steps = {"output_step": count if inner == 1 else 1, "value_step": inner, "block_step": count * inner}
        shape = Struct("aidge_helium_reduction_float32", {"blocks": blocks, "outputs": outputs, "count": count, **steps})
        function = f"aidge_helium_{self.node.type.lower()}_float32"
        return Call(
            function,
            ("float32/reduce.h",),
            (Input(0), Output(0), shape),
            texts=(_text(function, _KINDS[self.node.type]),),
            facts=computed("4 results"),
        )


def _text(function: str, kind: _Kind) -> str:
    parameters = "const float *x, float *y, const aidge_helium_reduction_float32 *shape"
    lanes = kind.lanes.replace("; ", ";\n                ")
    begin, end = ("".join(f"            {line}\n" for line in lines) for lines in (kind.begin, kind.end))
    quotient = ""
    if kind.quotient:
        quotient = f"""        for (output = 0; output < shape->outputs; output++) {{
            y[output] = y[output]{kind.quotient};
        }}
"""
    return f"""static void {function}({parameters})
{{
    int32_t block, output, left;
    for (block = 0; block < shape->blocks; block++) {{
        for (output = 0; output < shape->outputs; output += 4) {{
            const uint32x4_t places = aidge_helium_places_of_4(shape->outputs - output, shape->output_step);
            const float *values = x + output * shape->output_step;
            float32x4_t s = vdupq_n_f32({kind.start});
{begin}            for (left = shape->count; left > 0; left--) {{
                const float32x4_t v = vldrwq_gather_shifted_offset_f32(values, places);
                {lanes}
                values += shape->value_step;
            }}
{end}            vstrwq_p_f32(y + output, s, vctp32q((uint32_t)(shape->outputs - output)));
        }}
{quotient}        x += shape->block_step;
        y += shape->outputs;
    }}
}}"""
