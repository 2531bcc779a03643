# SPDX-License-Identifier: MIT
"""Two tensors, element by element, with broadcasting."""

from __future__ import annotations

from aidge_build.importers.tflite.linear import activation
from aidge_build.importers.tflite.node import TfliteNode
from aidge_build.importers.tflite.order import Wants
from aidge_build.importers.tflite.registry import reads
from aidge_build.operators.binary import Add, Div, Mul, Sub
from aidge_build.tflite_format import Field

_CLAMP = Field(0, "int8")


def operands(source: TfliteNode) -> list[str]:
    """Both inputs with as many axes as the output."""
    rank = source.output().rank
    return [source.read_wide(index, rank) for index in (0, 1)]


@reads("ADD", wants=Wants.SAME, kind=11, fused_activation_function=_CLAMP)
def add(source: TfliteNode) -> None:
    """a + b"""
    source.write(Add(**activation(source)), operands(source))


@reads("SUB", wants=Wants.SAME, kind=28, fused_activation_function=_CLAMP)
def sub(source: TfliteNode) -> None:
    """a - b"""
    source.write(Sub(**activation(source)), operands(source))


@reads("MUL", wants=Wants.SAME, kind=21, fused_activation_function=_CLAMP)
def mul(source: TfliteNode) -> None:
    """a * b"""
    source.write(Mul(**activation(source)), operands(source))


@reads("DIV", wants=Wants.SAME, kind=29, fused_activation_function=_CLAMP)
def div(source: TfliteNode) -> None:
    """a / b"""
    source.write(Div(**activation(source)), operands(source))
