# SPDX-License-Identifier: MIT
"""float32 Fourier transforms: functions generated for the length, which call one pass for each of its factors."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, REAL
from aidge_build.contract.kernel_kit.fourier import (
    MOST_POINTS,
    WRITTEN_OUT,
    halves_apart,
    parts,
    radices,
    reversed_digits,
    roots_of,
)
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

_FILE = "float32/fourier_float32.h"
_FLOATS = IOSpec(DType.float32, ROW_MAJOR)


def _points(view: NodeView) -> int:
    """The complex points of the transform: half the length of real frames, where that is even."""
    length = view.operator.length
    return length // 2 if view.operator.type == "RealFourier" and length % 2 == 0 else length


def _too_long(view: NodeView) -> str:
    points = _points(view)
    return f"{points} points, at most {MOST_POINTS} are supported" if points > MOST_POINTS else ""


def _floats_of_legs(points: int) -> int:
    """Room for the legs of the largest prime that has no pass of its own."""
    return 2 * max((radix for radix in radices(points) if radix not in WRITTEN_OUT), default=0)


def _passes(points: int, z: str, scratch: str) -> list[str]:
    """The calls of all passes, one line each."""
    lines, length = [], 1
    for radix in radices(points):
        if length == 1 and radix == 4:
            lines.append(f"aidge_ref_fourier_first4({z}, {points});")
        elif radix in WRITTEN_OUT:
            lines.append(f"roots = aidge_ref_fourier_{radix}({z}, roots, {points}, {length});")
        else:
            lines.append(f"roots = aidge_ref_fourier_prime({z}, roots, {scratch}, {points}, {length}, {radix});")
        length *= radix
    return lines


def _roots(passes: list[str]) -> str:
    """Returns the line by which passes know their factors."""
    return "const float *roots = factors;" if any("roots" in line for line in passes) else "(void)factors;"


class _Fourier(KernelNode):
    def tables(self) -> tuple[Constant, Constant]:
        """The order of the points, and the factors of the passes."""
        passes = radices(_points(self.view))
        order = Constant("order", reversed_digits(passes).astype(numpy.uint16))
        return order, Constant("roots", parts(roots_of(passes)))

    def shape(self, rows: int, samples: int, frames: int, step: int, taps: int) -> Struct:
        """The struct that says how frames lie in rows."""
        sizes = {"rows": rows, "samples": samples, "frames": frames, "step": step, "taps": taps}
        sizes |= {"points": _points(self.view), "bins": self.outputs[0].dims[-2]}
        return Struct("aidge_ref_fourier_shape", sizes)


@kernel("RealFourier", ImplSpec(_FLOATS, predicates=(REAL, CONSTANT_PARAMETERS, Predicate("points fit 16 bits", _too_long))))
class RealFourier(_Fourier):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        length = view.operator.length
        apart = 2 * length if length % 2 and view.operator.onesided else 0
        return Demands(scratch_bytes=4 * (apart + _floats_of_legs(_points(view))))

    def call(self) -> Call:
        operator, (rows, samples) = self.operator, self.inputs[0].dims
        window = self.inputs[1].data if len(self.inputs) > 1 and self.inputs[1] is not None else None
        taps = operator.taps(samples, None if window is None else window.size)
        windowed = (Constant("window", window.astype(numpy.float32)),) if window is not None else ()
        odd, points = operator.length % 2 != 0, _points(self.view)
        needed = self.demands(self.view).scratch_bytes > 0
        name = f"aidge_ref_real_fourier_{operator.length}{'_windowed' if windowed else ''}{'' if operator.onesided else '_whole'}"
        apart = () if odd else (Constant("apart", parts(halves_apart(points))),)
        return Call(
            f"{name}_float32",
            (_FILE,),
            (
                Input(0),
                Output(0),
                *((Scratch(),) if needed else ()),
                *windowed,
                *self.tables(),
                *apart,
                self.shape(rows, samples, operator.frames(samples, taps), operator.step, taps),
            ),
            texts=(self._text(f"{name}_float32", bool(windowed), odd, needed),),
        )

    def _text(self, name: str, windowed: bool, odd: bool, needed: bool) -> str:
        moved = odd and self.operator.onesided
        parameters = ["const float *input", "float *output"]
        parameters += ["void *scratch"] if needed else []
        parameters += ["const float *window"] if windowed else []
        parameters += ["const uint16_t *order", "const float *factors"]
        parameters += [] if odd else ["const float *apart"]
        lines = self._frame("window" if windowed else "0", odd, moved)
        inner = "\n".join(f"            {line}" for line in lines)
        scratch = "    float *z = (float *)scratch;\n" if needed else ""
        points = _points(self.view)
        size = f"{self.operator.length} values: {points} points in {len(radices(points))} passes"
        return f"""/* Spectra of real frames of {size}. */
static void {name}({", ".join((*parameters, "const aidge_ref_fourier_shape *shape"))})
{{
{scratch}    int32_t row, number{", i" if moved else ""};
    for (row = 0; row < shape->rows; row++) {{
        const float *frame = input + row * shape->samples;
        for (number = 0; number < shape->frames; number++) {{
{inner}
            frame += shape->step;
            output += 2 * shape->bins;
        }}
    }}
}}"""

    def _frame(self, window: str, odd: bool, moved: bool) -> list[str]:
        """Returns the lines that transform a frame; `moved`: in the scratch, from which the bins move to the output."""
        points = _points(self.view)
        z, legs = ("z", f"z + {2 * points}") if moved else ("output", "z")
        load = "aidge_ref_fourier_load_odd" if odd else "aidge_ref_fourier_load"
        passes = _passes(points, z, legs)
        lines = [_roots(passes), f"{load}(frame, {window}, {z}, order, shape->taps, {points});", *passes]
        if not odd:
            lines.append(f"aidge_ref_fourier_part({z}, apart, {points});")
        if moved:
            lines += ["for (i = 0; i < 2 * shape->bins; i++) {", "    output[i] = z[i];", "}"]
        if not odd and not self.operator.onesided:
            lines.append(f"aidge_ref_fourier_mirror({z}, {self.operator.length});")
        return lines


@kernel("ComplexFourier", ImplSpec(_FLOATS, predicates=(REAL, Predicate("points fit 16 bits", _too_long))))
class ComplexFourier(_Fourier):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * _floats_of_legs(view.operator.length))

    def call(self) -> Call:
        rows, taps, _ = self.inputs[0].dims
        needed = self.demands(self.view).scratch_bytes > 0
        name = f"aidge_ref_complex_fourier_{self.operator.length}{'_inverse' if self.operator.inverse else ''}_float32"
        shape = self.shape(rows, 2 * taps, 1, 0, taps)
        return Call(
            name,
            (_FILE,),
            (Input(0), Output(0), *((Scratch(),) if needed else ()), *self.tables(), shape),
            texts=(self._text(name, needed),),
        )

    def _text(self, name: str, needed: bool) -> str:
        points, inverse = self.operator.length, self.operator.inverse
        passes = _passes(points, "output", "(float *)scratch")
        lines = [_roots(passes), f"aidge_ref_fourier_load_complex(input, output, order, shape->taps, {points}, {int(inverse)});"]
        lines += [*passes, *([f"aidge_ref_fourier_swap(output, {points});"] if inverse else [])]
        inner = "\n".join(f"        {line}" for line in lines)
        return f"""/* {"Inverse spectra" if inverse else "Spectra"} of {points} complex values in {len(passes)} passes. */
static void {name}(const float *input, float *output{", void *scratch" if needed else ""},
    const uint16_t *order, const float *factors, const aidge_ref_fourier_shape *shape)
{{
    int32_t row;
    for (row = 0; row < shape->rows; row++) {{
{inner}
        input += shape->samples;
        output += 2 * {points};
    }}
}}"""
