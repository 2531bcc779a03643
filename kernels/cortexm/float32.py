# SPDX-License-Identifier: MIT
"""float32 layers: their specs, the stream of weights, and what becomes of sums before they are stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Constant
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .assembly import Routine
from .conditions import CONSTANT_PARAMETERS
from .packing import group_starts

FEATURES = frozenset({"dsp", "fpu"})  # fused multiply-add exists
SAVED_BYTES = 36 + 64  # r4-r11, lr and s16-s31 on the stack: arguments lie behind them


def _quantized(view: NodeView) -> str:
    tensors = [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]
    return "a tensor is quantized" if any(tensor.quantization for tensor in tensors) else ""


REAL = Predicate("no tensor is quantized", _quantized)


def float_spec(*predicates: Predicate, form: str = CHANNELS_LAST) -> ImplSpec:
    """float32 data, weights and bias; the FPU of a core with DSP instructions, so that fused multiply-add exists."""
    return ImplSpec(
        inputs=(IOSpec(DType.float32, form), IOSpec(DType.float32, ANY), IOSpec(DType.float32, ANY)),
        outputs=(IOSpec(DType.float32, form),),
        features=FEATURES,
        predicates=(REAL, CONSTANT_PARAMETERS, *predicates),
    )


def span(first: int, count: int) -> str:
    """A list of neighbouring registers of the FPU, as a line of a Routine has it."""
    return f"{{{{s{first}-s{first + count - 1}}}}}" if count > 1 else f"{{{{s{first}}}}}"


_ENDS = "%s.lowest", "%s.highest"  # of a text that names values


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
        """Both limits, where they are needed: %s.lowest and %s.highest, or s0 and s1 in a text that names no values."""
        if self.compared:
            code(f"vldm {pointer}, {listed(_ENDS) if pointer[0] == '%' else span(0, 2)}", "limits")

    def apply(self, code: Routine, numbers: Sequence[str] | range, lowest: int = 0) -> None:
        """The comparisons of values; of registers by their numbers, limits are in the registers `lowest` and the next."""
        ends = [f"s{lowest}", f"s{lowest + 1}"] if isinstance(numbers, range) else _ENDS
        for limit, condition in self.compared:
            for value in _names_of(numbers):
                code(f"vcmp.f32 {value}, {ends[limit]}")
                code("vmrs APSR_nzcv, fpscr")
                code(f"it {condition}")
                code(f"vmov{condition}.f32 {value}, {ends[limit]}")

    def store(self, code: Routine, numbers: Sequence[str] | range, pointer: str, pair: tuple[str, str]) -> None:
        """Values, or registers by their numbers, to memory at `pointer`, which moves on; `pair` may be overwritten."""
        names = _names_of(numbers)
        if not self.is_zero:
            code(f"vstmia {pointer}!, {span(numbers[0], len(numbers)) if isinstance(numbers, range) else listed(names)}")
            return
        first, second = pair
        for one, other in zip(names[::2], names[1::2]):
            code(f"vmov {first}, {second}, {one}, {other}", "negative values become 0")
            code(f"bic {first}, {first}, {first}, asr #31")
            code(f"bic {second}, {second}, {second}, asr #31")
            code(f"strd {first}, {second}, [{pointer}], #8")
        if len(names) % 2:
            code(f"vmov {first}, {names[-1]}")
            code(f"bic {first}, {first}, {first}, asr #31")
            code(f"str {first}, [{pointer}], #4")


def _names_of(numbers: Sequence[str] | range) -> list[str]:
    return [f"s{number}" if isinstance(number, int) else number for number in numbers]


class RealNode(KernelNode):
    """A layer of float32 with a clamp."""

    @property
    def clamp(self) -> Limits:
        return Limits(self.operator.minimum, self.operator.maximum)

    def limits(self) -> Constant:
        """Lowest and highest."""
        return Constant("limits", numpy.array([self.operator.minimum, self.operator.maximum], numpy.float32))


class LinearFloat32(RealNode):
    """What convolutions and fully connected layers of float32 share."""

    def bias(self) -> numpy.ndarray:
        """Zeros where the node has none."""
        given = self.inputs[2].data if len(self.inputs) > 2 and self.inputs[2] is not None else None
        return numpy.zeros(self.inputs[1].dims[0], numpy.float32) if given is None else given.astype(numpy.float32)

    def stream(self, rows: numpy.ndarray, group: int) -> Constant:
        """Weights [outputs, taps] in the order of float32.h."""
        bias, rows = self.bias(), rows.astype(numpy.float32)
        parts = []
        for first in group_starts(len(rows), group):
            block = slice(first, first + group)
            parts += [
                numpy.array([4 * first], numpy.int32),
                bias[block].view(numpy.int32),
                numpy.ascontiguousarray(rows[block].T).ravel().view(numpy.int32),
            ]
        return Constant("stream", numpy.concatenate(parts))
