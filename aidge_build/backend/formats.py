# SPDX-License-Identifier: MIT
"""The formats that a node may work in: what a kernel's spec allows, and what a view does to a storage order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.backend.spec import ANY, ImplSpec, NodeView, tensors_that_move
from aidge_build.export.library import Kernel
from aidge_build.graph.format import Format, channels_last, row_major, same_bytes
from aidge_build.graph.tensor import Tensor


@dataclass(frozen=True)
class Option:
    """One way to run a node: a kernel (None: as a view) with one format per moving input (by position) and per output."""

    kernel: Kernel | None
    inputs: tuple[tuple[int, Format], ...]
    outputs: tuple[Format, ...]


def kernel_options(view: NodeView, kernel: Kernel) -> list[Option]:
    """The formats that the kernel's spec allows for this node; an open format is tried in each common order."""
    spec, moving = kernel.spec, tensors_that_move(view.inputs)
    tensors = [view.inputs[index] for index in moving] + list(view.outputs)
    specs = [spec.input_spec(index).format for index in moving] + [spec.output_spec(index).format for index in range(len(view.outputs))]
    fixed = [_fixed(spec, view, moving, position) for position in range(len(tensors))]
    if all(form is not None for form in fixed):
        variants = [fixed]
    else:
        ranks = {tensor.rank for tensor, form in zip(tensors, fixed) if form is None}
        variants = [
            [form or order(tensor.rank) for tensor, form in zip(tensors, fixed)]
            for order in ((row_major, channels_last) if max(ranks) > 2 and _alike(tensors, fixed, specs) else (row_major,))
        ]
    return [Option(kernel, tuple(zip(moving, forms[:len(moving)])), tuple(forms[len(moving):])) for forms in variants]


def _fixed(spec: ImplSpec, view: NodeView, moving: list[int], position: int) -> Format | None:
    if position < len(moving):
        index = moving[position]
        return spec.input_spec(index).format_for(view.inputs[index].rank)
    index = position - len(moving)
    return spec.output_spec(index).format_for(view.outputs[index].rank)


def _alike(tensors: Sequence[Tensor], fixed: Sequence[Format | None], specs: Sequence[str]) -> bool:
    """Whether one permuted order can serve all open tensors: those that must share a format have the same rank."""
    shared = {tensor.rank for tensor, form, name in zip(tensors, fixed, specs) if form is None and name != ANY}
    return len(shared) <= 1


def view_options(view: NodeView) -> list[Option]:
    """The ways in which a Transpose or Reshape is only another name for the same bytes."""
    source, result = view.inputs[0], view.outputs[0]
    orders = dict.fromkeys((row_major(source.rank), channels_last(source.rank)))
    if view.node.type == "Transpose":
        inverse = dict.fromkeys(_transposed_back(view.operator.permutation, order(source.rank)) for order in (row_major, channels_last))
        return [Option(None, ((0, form),), (_transposed(view.operator.permutation, form),)) for form in {**orders, **inverse}]
    options = []
    for form in orders:
        if same_bytes(source.dims, form, row_major(source.rank)):
            options.append(Option(None, ((0, form),), (row_major(result.rank),)))
        elif long_axes(source.dims) == long_axes(result.dims):
            options.append(Option(None, ((0, form),), (_carried(source, result, form),)))
    return options


def long_axes(dims: tuple[int, ...]) -> list[int]:
    return [size for size in dims if size != 1]


def _transposed(perm: Sequence[int], form: Format) -> Format:
    """The format of the output of a Transpose that moves no byte: output axis j is input axis perm[j]."""
    return Format(tuple(list(perm).index(axis) for axis in form.order))


def _transposed_back(perm: Sequence[int], form: Format) -> Format:
    """The input format for which the output of the Transpose has `form`."""
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
