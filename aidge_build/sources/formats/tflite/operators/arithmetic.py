# SPDX-License-Identifier: MIT
"""Two tensors, element by element, with broadcasting."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.operators.activation import PReLU
from aidge_build.operators.arithmetic.halfword_functions import power_of_two
from aidge_build.operators.base import require
from aidge_build.operators.binary import Add, Div, Max, Min, Mod, Mul, Pow, Sub, Sum
from aidge_build.operators.unary import Floor
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.linear import activation
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads

_CLAMP = Field(0, "int8")
_POWERS = Field(1, "bool", True)  # of two: of an older rule for int16 sums


def operands(source: TfliteNode) -> list[str]:
    """Both inputs with as many axes as the output."""
    rank = source.output().rank
    return [source.read_wide(index, rank) for index in (0, 1)]


def _refuse_powers_of_two(source: TfliteNode) -> None:
    """Refuses sums of int16 tensors with scales that are powers of two: an older rule, which newer files switch off, shifts one
    addend."""
    values = (source.input(0), source.input(1), source.output())
    if source.on_stored and source.output().dtype is DType.int16 and source.options["pot_scale_int16"]:
        scales = [value.quantization.scale for value in values if value.quantization is not None]
        older = all(power_of_two(float(scale)) is not None for scale in scales)
        require(not older, "int16 sums of scales that are powers of two have a rule of their own", "--rounding onnx")


@reads("ADD", wants=Wants.SAME, kind=11, fused_activation_function=_CLAMP, pot_scale_int16=_POWERS)
def add(source: TfliteNode) -> None:
    """a + b"""
    _refuse_powers_of_two(source)
    source.write(Add(**activation(source)), operands(source))


@reads("SUB", wants=Wants.SAME, kind=28, fused_activation_function=_CLAMP, pot_scale_int16=_POWERS)
def sub(source: TfliteNode) -> None:
    """a - b"""
    _refuse_powers_of_two(source)
    source.write(Sub(**activation(source)), operands(source))


@reads("MUL", wants=Wants.SAME, kind=21, fused_activation_function=_CLAMP)
def mul(source: TfliteNode) -> None:
    """a * b"""
    source.write(Mul(**activation(source)), operands(source))


@reads("DIV", wants=Wants.SAME, kind=29, fused_activation_function=_CLAMP)
def div(source: TfliteNode) -> None:
    """a / b"""
    source.write(Div(**activation(source)), operands(source))


@reads("MAXIMUM", wants=Wants.SAME)
def maximum(source: TfliteNode) -> None:
    """max(a, b)"""
    source.write(Max(), [source.as_output(name) for name in operands(source)])


@reads("MINIMUM", wants=Wants.SAME)
def minimum(source: TfliteNode) -> None:
    """min(a, b)"""
    source.write(Min(), [source.as_output(name) for name in operands(source)])


@reads("POW", wants=Wants.SAME)
def power(source: TfliteNode) -> None:
    """a ^ b"""
    source.write(Pow(), operands(source))


@reads("ADD_N", wants=Wants.SAME)
def add_n(source: TfliteNode) -> None:
    """The sum of all inputs."""
    source.write(Sum(), [source.read(index) for index in range(source.input_count)])


@reads("SQUARED_DIFFERENCE", wants=Wants.SAME)
def squared_difference(source: TfliteNode) -> None:
    """(a - b)^2"""
    rank = source.output().rank
    if source.output().quantization is None:
        difference = source.step(Sub(), operands(source), source.input(0))
        source.write(Mul(), [difference, difference])
        return
    difference = source.step(Sub(), [source.wide_real(index, rank) for index in (0, 1)])
    source.write_real(Mul(), [difference, difference])


@reads("PRELU", wants=Wants.SAME)
def prelu(source: TfliteNode) -> None:
    """x where it is positive, else slope x"""
    source.write(PReLU(), operands(source))


@reads("FLOOR_DIV", wants=Wants.SAME)
def floor_div(source: TfliteNode) -> None:
    """floor(a / b); for integers (a - remainder) / b, which is a whole number"""
    first, second = operands(source)
    if source.input(0).dtype.is_float:
        source.write(Floor(), [source.step(Div(), [first, second])])
    else:
        remainder = source.step(Mod(), [first, second], like=source.output())
        whole = source.step(Sub(), [first, remainder], like=source.output())
        source.write(Div(), [whole, second])


@reads("FLOOR_MOD", wants=Wants.SAME)
def floor_mod(source: TfliteNode) -> None:
    """The remainder of integers, with the sign of b."""
    require(not source.input(0).dtype.is_float, "its inputs are float32, wants integers")
    source.write(Mod(), operands(source))
