# SPDX-License-Identifier: MIT
"""Functions of one element."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.operators.activation import Clip, Elu, HardSwish, LeakyReLU, ReLU, Sigmoid, Tanh
from aidge_build.operators.base import Operator, require
from aidge_build.operators.binary import Mul
from aidge_build.operators.smooth import Gelu
from aidge_build.operators.trigonometry import Cos, Sin
from aidge_build.operators.unary import Abs, Ceil, Exp, Floor, Log, Neg, Not, Reciprocal, Round, Sign, Sqrt
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads

_FUNCTIONS: dict[str, Callable[..., Operator]] = {
    "ABS": Abs,
    "CEIL": Ceil,
    "COS": Cos,
    "ELU": Elu,
    "EXP": Exp,
    "FLOOR": Floor,
    "HARD_SWISH": HardSwish,
    "LOG": Log,
    "LOGICAL_NOT": Not,
    "LOGISTIC": Sigmoid,
    "RELU": ReLU,
    "RELU6": lambda: Clip(minimum=0.0, maximum=6.0),
    "RELU_0_TO_1": lambda: Clip(minimum=0.0, maximum=1.0),
    "RELU_N1_TO_1": lambda: Clip(minimum=-1.0, maximum=1.0),
    "ROUND": Round,
    "SIGN": Sign,
    "SIN": Sin,
    "SQRT": Sqrt,
    "TANH": Tanh,
}


@reads(*_FUNCTIONS, wants=Wants.SAME)
def function(source: TfliteNode) -> None:
    """One operator for one."""
    source.write(_FUNCTIONS[source.operator.type](), [source.read(0)])


@reads("NEG", wants=Wants.SAME)
def negative(source: TfliteNode) -> None:
    """-x"""
    source.write(Neg(stored=source.on_stored), [source.read(0)])


@reads("LEAKY_RELU", wants=Wants.SAME, kind=75, alpha=Field(0, "float32"))
def leaky_relu(source: TfliteNode) -> None:
    """x where it is positive, else alpha x"""
    alpha = source.options["alpha"]
    require(bool(numpy.isfinite(alpha)), f"its alpha is {alpha}")
    source.write(LeakyReLU(alpha=alpha), [source.read(0)])


@reads("GELU", wants=Wants.SAME, kind=116, approximate=Field(0, "bool"))
def gelu(source: TfliteNode) -> None:
    """With erf, or approximate: with tanh."""
    source.write(Gelu(with_tanh=source.options["approximate"]), [source.read(0)])


@reads("SQUARE", wants=Wants.SAME)
def square(source: TfliteNode) -> None:
    """x x"""
    data = source.read(0)
    source.write(Mul(), [data, data])


@reads("RSQRT", wants=Wants.SAME)
def rsqrt(source: TfliteNode) -> None:
    """1 / sqrt(x)"""
    source.write_real(Reciprocal(), [source.step(Sqrt(), [source.read_real(0)])])
