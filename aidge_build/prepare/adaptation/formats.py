# SPDX-License-Identifier: MIT
"""The formats that a node may work in: by a kernel's spec, or by the effect of a view on a storage order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import ANY, NodeView, tensors_that_move
from aidge_build.graph.format import Format, channels_last, row_major, same_bytes
from aidge_build.graph.tensor import Tensor

MOST_OPTIONS = 64  # of one kernel at one node


@dataclass(frozen=True)
class Option:
    """One way to run a node: a kernel (None: as a view) with one format per moving input (by position) and per output."""

    kernel: Kernel | None
    inputs: tuple[tuple[int, Format], ...]
    outputs: tuple[Format, ...]

    def reads(self, inputs: tuple[str, ...], name: str) -> tuple[Format, ...]:
        """Returns the formats in which a node with these inputs reads the tensor `name`."""
        return tuple(form for index, form in self.inputs if inputs[index] == name)


def kernel_options(view: NodeView, kernel: Kernel) -> list[Option]:
    """Returns the formats that the kernel's spec allows for this node; each open format is tried in the common orders.

    Tensors of one any_n change their order together; each tensor with `any` changes on its own.
    """
    spec, moving = kernel.spec, tensors_that_move(view.inputs)
    sides = [(view.inputs[index], spec.input_spec(index)) for index in moving]
    sides += [(tensor, spec.output_spec(index)) for index, tensor in enumerate(view.outputs)]
    fixed = [side.format_for(tensor.rank) for tensor, side in sides]
    groups: dict[object, list[int]] = {}  # what is open -> the positions that share it
    for position, (_, side) in enumerate(sides):
        if fixed[position] is None:
            groups.setdefault(position if side.format is ANY else side.format, []).append(position)
    orders = [_orders([sides[position][0].rank for position in positions]) for positions in groups.values()]
    options = []
    for chosen in itertools.islice(itertools.product(*orders), MOST_OPTIONS):
        forms = list(fixed)
        for order, positions in zip(chosen, groups.values()):
            for position in positions:
                forms[position] = order(sides[position][0].rank)
        options.append(Option(kernel, tuple(zip(moving, forms[: len(moving)])), tuple(forms[len(moving) :])))
    return options


def _orders(ranks: Sequence[int]) -> tuple[Callable[[int], Format], ...]:
    """Returns the orders that tensors with a common format can have: a permuted order only if all have the same rank, above 2."""
    return (row_major, channels_last) if len(set(ranks)) == 1 and min(ranks) > 2 else (row_major,)


def view_options(view: NodeView) -> list[Option]:
    """Returns the ways in which a Transpose or Reshape is an alias of its input."""
    source, result = view.inputs[0], view.outputs[0]
    orders = dict.fromkeys((row_major(source.rank), channels_last(source.rank)))
    if view.node.type == "Transpose":
        inverse = dict.fromkeys(
            _transposed_back(view.operator.permutation, order(source.rank)) for order in (row_major, channels_last)
        )
        return [Option(None, ((0, form),), (_transposed(view.operator.permutation, form),)) for form in {**orders, **inverse}]
    options = []
    for form in orders:
        if same_bytes(source.dims, form, row_major(source.rank)):
            options.append(Option(None, ((0, form),), (row_major(result.rank),)))
        elif long_axes(source.dims) == long_axes(result.dims):
            options.append(Option(None, ((0, form),), (_carried(source, result, form),)))
    return options


def long_axes(dims: tuple[int, ...]) -> list[int]:
    """Returns the sizes of the axes longer than 1: a view that only adds or removes axes of length 1 keeps them."""
    return [size for size in dims if size != 1]


def _transposed(perm: Sequence[int], form: Format) -> Format:
    """Returns the format of the output of a Transpose that moves no byte: output axis j is input axis perm[j]."""
    return Format(tuple(list(perm).index(axis) for axis in form.order))


def _transposed_back(perm: Sequence[int], form: Format) -> Format:
    """Returns the input format for which the output of the Transpose has `form`."""
    return Format(tuple(perm[axis] for axis in form.order))


def _carried(source: Tensor, result: Tensor, form: Format) -> Format:
    """The same order of the axes longer than 1 when a reshape only adds or drops axes of length 1."""
    source_axes = [axis for axis, size in enumerate(source.dims) if size != 1]
    result_axes = [axis for axis, size in enumerate(result.dims) if size != 1]
    partner = dict(zip(source_axes, result_axes))
    long = [partner[axis] for axis in form.order if axis in partner]
    wanted = channels_last(result.rank)
    if [axis for axis in wanted.order if result.dims[axis] != 1] == long:
        return wanted
    return Format((*(axis for axis, size in enumerate(result.dims) if size == 1), *long))
