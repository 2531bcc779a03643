# SPDX-License-Identifier: MIT
"""The channels of the computed tensors that are needed: the others can be left out without changing any output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import centred
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.rearrange import Concat
from aidge_build.prepare.recipes.channel_reach import (
    CHANNEL_AXIS,
    Reach,
    has_channels,
    has_constant_weights,
    is_by_channel,
    keeps_order,
    split_and_joined,
)

WORD = 4  # channels: a tensor keeps a multiple of it, so that its pixels stay whole words


@dataclass(frozen=True, eq=False)
class Product:
    """A linear layer in which an output channel may read every input channel: channels of both sides may go.

    `reads[o, i]`: output o is not constant and has a weight for input i that is not 0. `folds[i]`: input i always has the same
    value and adds the same number to every output pixel, so that the bias can hold it.
    """

    data: str
    result: str
    reads: numpy.ndarray
    folds: numpy.ndarray


class ChannelUse:
    """Channels that must stay or go together form a class, because a depthwise layer, a pool or an Add keeps channels apart.

    `needed[class]` is the smallest solution of: graph inputs, graph outputs and everything around unknown operators is needed; an
    input channel of a product is needed when it does not fold and a needed output channel reads it.
    """

    def __init__(self, view: GraphView, reach: Mapping[str, Reach]):
        self._view = view
        self._reach = reach
        self._parent: list[int] = []
        self._of_tensor = {
            name: self._new_classes(tensor.dims[CHANNEL_AXIS]) for name, tensor in view.tensors.items() if has_channels(tensor)
        }
        self._products: list[Product] = []
        whole = {*view.inputs, *view.outputs}
        for node in view.nodes:
            if not self._understands(node):
                whole |= {name for name in (*node.inputs, *node.outputs) if name in self._of_tensor}
        self._classes = {
            name: numpy.array([self._root(each) for each in members], numpy.int64) for name, members in self._of_tensor.items()
        }
        self.needed = numpy.zeros(len(self._parent), bool)
        for name in whole & self._of_tensor.keys():
            self.needed[self._classes[name]] = True
        self._spread()
        while self._complete_words():
            self._spread()

    def kept(self, tensor: str) -> numpy.ndarray | None:
        """Whether each channel stays; None for a tensor without channels."""
        return self.needed[self._classes[tensor]] if tensor in self._classes else None

    def _new_classes(self, count: int) -> list[int]:
        first = len(self._parent)
        self._parent += range(first, first + count)
        return list(range(first, first + count))

    def _root(self, member: int) -> int:
        while self._parent[member] != member:
            self._parent[member] = member = self._parent[self._parent[member]]
        return member

    def _join(self, some: Sequence[int], others: Sequence[int]) -> None:
        for one, other in zip(some, others, strict=True):
            self._parent[self._root(other)] = self._root(one)

    def _understands(self, node: Node) -> bool:
        """Notes what the node does with its channels. Returns False if that is not known."""
        inputs, outputs = self._view.input_tensors(node), self._view.output_tensors(node)
        computed = [tensor for tensor in inputs if tensor is not None and not tensor.is_constant]
        if len(outputs) != 1 or not computed or not all(tensor.name in self._of_tensor for tensor in (*computed, *outputs)):
            return False
        (output,), (data, *_) = outputs, computed
        if isinstance(node.operator, Conv | FC):
            return self._linear(node.operator, inputs, output)
        if isinstance(node.operator, Concat):
            return self._concat(node.operator, computed, len(inputs), output)
        if is_by_channel(node.operator):
            return self._by_channel(computed, output)
        return keeps_order(node.operator) and self._renamed(data, output)

    def _linear(self, operator: Conv | FC, inputs: tuple[Tensor | None, ...], output: Tensor) -> bool:
        data, weights = inputs[:2]
        if not has_constant_weights(inputs):
            return False
        if isinstance(operator, Conv) and operator.depthwise:
            self._join(self._of_tensor[data.name], self._of_tensor[output.name])
            return True
        if getattr(operator, "groups", 1) != 1:
            return False
        constant = self._reach[data.name].is_constant
        is_padded = isinstance(operator, Conv) and operator.window.has_pads
        folds = constant & (self._reach[data.name].low == data.quantization.zero_point) if is_padded else constant
        rows = centred(weights.data, weights.quantization)
        reads = rows.reshape(*rows.shape[:2], -1).any(axis=2) & ~self._reach[output.name].is_constant[:, None]
        self._products.append(Product(data.name, output.name, reads, folds))
        return True

    def _concat(self, operator: Concat, computed: list[Tensor], count: int, output: Tensor) -> bool:
        if operator.axis != CHANNEL_AXIS or len(computed) != count:
            return False
        self._join([member for tensor in computed for member in self._of_tensor[tensor.name]], self._of_tensor[output.name])
        return True

    def _by_channel(self, computed: list[Tensor], output: Tensor) -> bool:
        if any(tensor.rank != output.rank or tensor.dims[CHANNEL_AXIS] != output.dims[CHANNEL_AXIS] for tensor in computed):
            return False
        for tensor in computed:
            self._join(self._of_tensor[tensor.name], self._of_tensor[output.name])
        return True

    def _renamed(self, data: Tensor, output: Tensor) -> bool:
        parts, joined = split_and_joined(data, output)
        if parts:
            self._join(
                numpy.repeat(self._of_tensor[data.name], parts).tolist(),
                numpy.repeat(self._of_tensor[output.name], joined).tolist(),
            )
        return parts > 0

    def _spread(self) -> None:
        """Marks the channels that the needed channels need, until no channel is added."""
        before = -1
        while (count := int(self.needed.sum())) != before:
            before = count
            for product in reversed(self._products):
                read = product.reads[self.needed[self._classes[product.result]]].any(axis=0) & ~product.folds
                self.needed[self._classes[product.data][read]] = True

    def _complete_words(self) -> bool:
        """Keeps more channels if a tensor would have none or a part of a word: constant channels first, they cost least."""
        grew = False
        for name in sorted(self._classes):
            classes = self._classes[name]
            spare = numpy.argsort(~self._reach[name].is_constant, kind="stable")
            for channel in spare:
                count = int(self.needed[classes].sum())
                if count % WORD == 0 and count:
                    break
                grew = grew or not self.needed[classes[channel]]
                self.needed[classes[channel]] = True
        return grew
