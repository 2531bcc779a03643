# SPDX-License-Identifier: MIT
"""The data of a call that a prediction may use before anything is compiled: C function, integers, tensors, facts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aidge_build.contract.call import Call, Literal, Struct
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.graph.tensor import Tensor
from aidge_build.prepare.adaptation.meta_operator import MetaOperator

MOST_OF_A_SEQUENCE = 8  # integers: a longer one is a table and no shape


@dataclass(frozen=True)
class Described:
    """A kernel's call at a node. `inputs` and `outputs` are dims in logical order, `types` the element types of the first input,
    of the first constant input ("" without) and of the first output; `attributes` are the integers of the operator, and
    `arguments` the integers that the C function is called with, by the struct's fields and as `literal0`; `constants` are the
    elements of its arrays."""

    library: str
    kernel: str
    operator: str
    function: str
    types: tuple[str, str, str]
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    macs: int
    attributes: Mapping[str, int] = field(default_factory=dict)
    arguments: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    work: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, view: NodeView, kernel: Kernel, call: Call) -> Described:
        """Returns the description of the kernel's call at the node; at a meta-operator as if for its heaviest node alone."""
        name = view.operator.type
        if isinstance(view.operator, MetaOperator):
            view = view.operator.heaviest
        data = [tensor for tensor in view.inputs if tensor is not None and not tensor.is_constant]
        fixed = [tensor for tensor in view.inputs if tensor is not None and tensor.is_constant]
        return cls(
            kernel.library,
            kernel.name,
            name,
            call.function,
            (_type_of(data), _type_of(fixed), _type_of(view.outputs)),
            tuple(tuple(tensor.dims) for tensor in data),
            tuple(tuple(tensor.dims) for tensor in view.outputs),
            view.multiply_accumulates,
            dict(_integers("", view.operator)),
            dict(_arguments(call)),
            {argument.name: math.prod(argument.values.shape) for argument in call.constants},
            dict(call.facts),
            dict(call.work),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Described:
        """Returns the value that `as_json` wrote."""
        lists = {name: tuple(tuple(dims) for dims in data[name]) for name in ("inputs", "outputs")}
        return cls(**{**data, **lists, "types": tuple(data["types"])})

    def as_json(self) -> dict[str, Any]:
        """Returns numbers, words, lists and tables."""
        return dataclasses.asdict(self)


def _type_of(tensors: list[Tensor] | tuple[Tensor, ...]) -> str:
    return tensors[0].dtype.name if tensors else ""


def _arguments(call: Call):
    literals = 0
    for argument in call.arguments:
        if isinstance(argument, Struct):
            for name, value in argument.fields.items():
                yield from _integers(name, value)
        elif isinstance(argument, Literal):
            yield f"literal{literals}", int(argument.value)
            literals += 1


def _integers(name: str, value: Any):
    """Yields (name, number) of every integer inside of a value; the elements of a sequence are named by position."""
    if isinstance(value, bool):
        yield name, int(value)
    elif isinstance(value, int):
        yield name, value
    elif isinstance(value, (tuple, list)) and len(value) <= MOST_OF_A_SEQUENCE:
        for index, one in enumerate(value):
            yield from _integers(f"{name}{index}", one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for part in dataclasses.fields(value):
            yield from _integers(f"{name}.{part.name}" if name else part.name, getattr(value, part.name))
