# SPDX-License-Identifier: MIT
"""A call of a C kernel as data: a library returns it for a layer, and `emit` prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy


@dataclass(frozen=True)
class Input:
    """The pointer to the node's input of this index."""

    index: int = 0


@dataclass(frozen=True)
class Output:
    """The pointer to the node's output of this index."""

    index: int = 0


@dataclass(frozen=True)
class Scratch:
    """The pointer to the scratch bytes that the kernel demanded (void pointer in C)."""


@dataclass(frozen=True)
class Constant:
    """An array in flash, in the order in which the kernel reads it. It becomes `<model>_<layer>_<name>`.

    It is printed into the weights file: numbers that depend on weights, scales or zero points belong here, and not
    into a `Literal` or `Struct`, so that new weights leave the code file as it is.
    """

    name: str
    values: numpy.ndarray


@dataclass(frozen=True)
class Literal:
    """A number in the call."""

    value: int


@dataclass(frozen=True)
class Struct:
    """A constant struct of integers or integer arrays (shapes and strides): printed with the layer, passed by address."""

    type: str
    fields: Mapping[str, Any]  # integers, and tuples of integers for arrays


Argument = Input | Output | Scratch | Constant | Literal | Struct


def computed(
    block: str, proved: int | None = None, units: int = 1, unit: str = "group", otherwise: str = "float"
) -> dict[str, str]:
    """Returns `Call.facts` of a kernel: the `block` that it computes together ("2 pixels x 4 channels"), and the number `proved`
    of its `units` (groups of channels, say) with a requantization proved in integers; the others are `otherwise`. None: it has no
    such epilogue.
    """
    facts = {"block": block}
    if proved is not None:
        some = f"integer in {proved} of {units} {unit}s, {otherwise} in the others"
        facts["epilogue"] = "integer" if proved == units else some if proved else otherwise
    return facts


class Steps(Protocol):
    """The operations of a kernel on float32, one after the other, in numpy (`kernel_kit.float_layers`)."""

    @property
    def forward(self) -> Callable[..., tuple[numpy.ndarray, ...]]:
        """Returns the function from the node's inputs to its outputs, both in logical order."""


@dataclass(frozen=True)
class Call:
    """One call per layer: `function(arguments...)`; its text is in `sources` (files of the library).

    A source may include others of its library with #include "file.h"; the generated file contains each once.
    `texts` are functions that the library generated for this layer; they come after the sources, each distinct function once, so
    the name of a function must tell all that its text depends on.
    `files` are sources that are no files of the library's folder, by path.
    `note` tells the reader the choice or proof for this layer ("requantization proved as integer"); `facts` hold it as data for
    `explain` and the plan: "block" is the block computed together, "epilogue" the conversion of sums to outputs (`computed`).
    `work` are numbers that its instructions grow with, for predictions: how often a loop turns, say.
    `steps` computes the float32 outputs of the node in numpy, to the last bit as the C does: its operations in its order. None:
    the C is only within the tolerance for floats of the result rounded once.
    """

    function: str
    sources: tuple[str, ...]
    arguments: tuple[Argument, ...]
    note: str = ""
    texts: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    work: Mapping[str, int] = field(default_factory=dict)
    steps: Steps | None = None

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The arguments that go to the weights file."""
        return tuple(argument for argument in self.arguments if isinstance(argument, Constant))
