# SPDX-License-Identifier: MIT
"""float32 layers: the stream of weights, loops over values, and what becomes of sums before they are stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Constant
from aidge_build.contract.kernel_kit.linear_float32 import LinearFloat32
from aidge_build.contract.kernel_kit.packing import group_starts
from aidge_build.contract.spec import NodeView, Predicate

from .assembly import Routine

FEATURES = frozenset({"dsp", "fpu"})  # fused multiply-add exists


_ENDS = "%s.lowest", "%s.highest"


def values(name: str, count: int) -> list[str]:
    """So many values in registers of the FPU, as a line names them."""
    return [f"%s.{name}{index}" for index in range(count)]


def listed(names: Sequence[str]) -> str:
    """These values as the operand of an instruction that loads or stores several."""
    return f"{{{', '.join(names)}}}"


def in_turns(code: Routine, together: int, compute: Callable[[int], None]) -> None:
    """%count values, so many `together` as long as there are, then one by one: `compute` prints what computes a number of
    them. Labels turn, rest, one and done; the last one is behind all."""
    code(f"subs %count, %count, #{together}")
    code("blt %rest")
    code.label("turn", f"{together} values")
    compute(together)
    code(f"subs %count, %count, #{together}")
    code("bge %turn")
    code.label("rest")
    code(f"adds %count, %count, #{together}")
    code("beq %done")
    code.label("one", "a value")
    compute(1)
    code("subs %count, %count, #1")
    code("bne %one")
    code.label("done")


@dataclass(frozen=True)
class Limits:
    """The clamp of an operator as instructions.

    A lowest value of 0 clears the bits of numbers whose sign is set, in a core register: NaN with a set sign, too, which
    no operation of the FPU makes. Every other limit is compared, and NaN stays.
    """

    low: float
    high: float

    @property
    def is_zero(self) -> bool:
        """Whether negative numbers become 0."""
        return self.low == 0.0

    @property
    def compared(self) -> tuple[tuple[int, str], ...]:
        """Which limits are compared, and the condition that replaces a value."""
        found = ((0, "mi"),) if math.isfinite(self.low) and not self.is_zero else ()
        return found + (((1, "gt"),) if math.isfinite(self.high) else ())

    @property
    def suffix(self) -> str:
        """For the names of functions."""
        return "_relu" * self.is_zero + "".join(("_low", "_high")[index] for index, _ in self.compared)

    def load(self, code: Routine, pointer: str) -> None:
        """Both limits into %s.lowest and %s.highest, if they are needed."""
        if self.compared:
            code(f"vldm {pointer}, {listed(_ENDS)}", "limits")

    def apply(self, code: Routine, names: Sequence[str]) -> None:
        """The comparisons of values."""
        for limit, condition in self.compared:
            for value in names:
                code(f"vcmp.f32 {value}, {_ENDS[limit]}")
                code("vmrs APSR_nzcv, fpscr")
                code(f"it {condition}")
                code(f"vmov{condition}.f32 {value}, {_ENDS[limit]}")

    def store(self, code: Routine, names: Sequence[str], pointer: str) -> None:
        """Values to memory at `pointer`, which moves on."""
        if not self.is_zero:
            code(f"vstmia {pointer}!, {listed(names)}")
            return
        first, second = "%word", "%other"
        for one, other in zip(names[::2], names[1::2]):
            code(f"vmov {first}, {second}, {one}, {other}", "negative values become 0")
            code(f"bic {first}, {first}, {first}, asr #31")
            code(f"bic {second}, {second}, {second}, asr #31")
            code(f"strd {first}, {second}, [{pointer}], #8")
        if len(names) % 2:
            code(f"vmov {first}, {names[-1]}")
            code(f"bic {first}, {first}, {first}, asr #31")
            code(f"str {first}, [{pointer}], #4")


def _other_clamp(view: NodeView) -> str:
    bounds = view.operator.minimum, view.operator.maximum
    return "" if bounds in ((-math.inf, math.inf), (0, math.inf)) else "a clamp that is no ReLU"


NO_OTHER_CLAMP = Predicate("no clamp but ReLU", _other_clamp)


class CortexmLinearFloat32(LinearFloat32):
    """The common part of convolutions and fully connected layers of this library."""

    assembly = "needed"

    @property
    def clamp(self) -> Limits:
        return Limits(self.operator.minimum, self.operator.maximum)

    def stream(self, rows: numpy.ndarray, group: int) -> Constant:
        """Weights [outputs, taps] in the order of `stream_of`."""
        return Constant("stream", stream_of(rows.astype(numpy.float32), self.bias(), group))


def stream_of(rows: numpy.ndarray, bias: numpy.ndarray, group: int) -> numpy.ndarray:
    """Weights [outputs, taps] and biases by groups of so many outputs: for each group 4 * its first output, biases, then for each
    tap one weight for each output of the group; floats as their bits."""
    found = []
    for first in group_starts(len(rows), group):
        block = slice(first, first + group)
        numbers = numpy.concatenate([bias[block], rows[block].T.ravel()])
        found += [numpy.array([4 * first], numpy.int32), numbers.view(numpy.int32)]
    return numpy.concatenate(found)
