# SPDX-License-Identifier: MIT
"""Comparisons, logic, and choices by them."""

from __future__ import annotations

from aidge_build.operators.binary import And, Comparison, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Or, Where
from aidge_build.operators.unary import Not
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.operators.arithmetic import operands
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads

_COMPARISONS: dict[str, type[Comparison]] = {
    "EQUAL": Equal,
    "GREATER": Greater,
    "GREATER_EQUAL": GreaterOrEqual,
    "LESS": Less,
    "LESS_EQUAL": LessOrEqual,
    "LOGICAL_AND": And,
    "LOGICAL_OR": Or,
}


def _compared(source: TfliteNode) -> list[str]:
    """Stored values where both mean the same, else the real ones."""
    if source.input(0).quantization == source.input(1).quantization:
        return operands(source)
    rank = source.output().rank
    return [source.wide_real(index, rank) for index in (0, 1)]


@reads(*_COMPARISONS, wants=Wants.SAME)
def comparison(source: TfliteNode) -> None:
    """One operator for one."""
    source.write(_COMPARISONS[source.operator.type](), _compared(source))


@reads("NOT_EQUAL", wants=Wants.SAME)
def not_equal(source: TfliteNode) -> None:
    """not a == b"""
    source.write(Not(), [source.step(Equal(), _compared(source))])


@reads("SELECT", "SELECT_V2", wants=Wants.SAME)
def select(source: TfliteNode) -> None:
    """b where a holds, else c"""
    rank = source.output().rank
    source.write(Where(), [source.read_wide(index, rank) for index in range(3)])
