# SPDX-License-Identifier: MIT
"""The graph that grows while a file is read: nodes and tensors under names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, State, graph_view
from aidge_build.operators.base import Operator
from aidge_build.sources.dims import check_elements
from aidge_build.sources.folding import Folding


@dataclass(frozen=True)
class Result:
    """An output of a node: its name, and the meaning of its stored values; `dtype` counts if it is quantized."""

    name: str
    dtype: DType = DType.float32
    quantization: Quantization | None = None


class Draft:
    """Tensors by name, and the nodes so far, in order."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self._names: set[str] = set()
        self._folding = Folding()

    def free_name(self, wanted: str) -> str:
        """A name for a tensor or node that nothing else has; it is taken from now on."""
        name, count = wanted, 1
        while name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        return name

    def add_tensor(self, tensor: Tensor) -> str:
        """A tensor that no node computes."""
        self.tensors[tensor.name] = tensor
        return tensor.name

    def constant(self, wanted: str, values: numpy.ndarray, quantization: Quantization | None = None) -> str:
        """A constant under a free name like the wanted one."""
        return self.add_tensor(constant(self.free_name(wanted), numpy.asarray(values, order="C"), quantization))

    def add_node(self, name: str, operator: Operator, inputs: Sequence[str], results: Sequence[Result], origin: str) -> None:
        """A node with its outputs; a constant one is evaluated. `origin` is the node's name in the file."""
        given = [self.tensors[one] if one else None for one in inputs]
        outputs = _outputs(operator, given, results)
        computed = [tensor for tensor in given if tensor is not None and not tensor.is_constant]
        if operator.folds and not computed:
            outputs = self._folding.values(operator, given, outputs)
        else:
            for tensor in (*computed, *outputs):
                check_elements(f"tensor '{tensor.name}'", tensor.dims, operator.empties)
            names = tuple(tensor.name for tensor in outputs)
            self.nodes.append(Node(self.free_name(name), operator, tuple(inputs), names, (origin,)))
        self.tensors |= {tensor.name: tensor for tensor in outputs}

    def view(self, name: str, inputs: Iterable[str], outputs: Iterable[str], states: Iterable[State] = ()) -> GraphView:
        """Returns the graph of the nodes that the outputs need."""
        return graph_view(name, self.nodes, self.tensors, inputs, outputs, states)


def _outputs(operator: Operator, given: Sequence[Tensor | None], results: Sequence[Result]) -> list[Tensor]:
    """The tensors of the results, with the dims that the operator infers."""
    first = given[0] if given else None
    is_stored = first is not None and first.quantization is not None and any(one.quantization is not None for one in results)
    types = operator.infer([_real(tensor) if is_stored else tensor for tensor in given])
    if len(types) != len(results):
        raise AidgeError(f"it has {len(results)} outputs, {operator.type} makes {len(types)}", code="MODEL")
    return [
        Tensor(one.name, kind.dims, one.dtype if one.quantization is not None else kind.dtype, None, one.quantization)
        for one, kind in zip(results, types)
    ]


def _real(tensor: Tensor | None) -> Tensor | None:
    """Returns a quantized tensor as float32, as operators on quantized tensors mean it; any other tensor as it is."""
    return tensor if tensor is None or tensor.quantization is None else tensor.with_(dtype=DType.float32)
