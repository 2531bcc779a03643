# SPDX-License-Identifier: MIT
"""Which kernel each node got, and why: the result of adaptation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from aidge_build.contract.library import Kernel
from aidge_build.contract.node_view import asked_of
from aidge_build.contract.spec import NodeView
from aidge_build.graph.format import Format
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node


@dataclass(frozen=True)
class Choice:
    """`kernel` is None for a node that only renames the bytes of its input. `rejected` lists (kernel, reason).

    `inputs` (position, format) and `outputs` are the formats in which the kernel works. They store the same bytes as
    the tensors' own formats, but may place axes of length 1 elsewhere.
    """

    kernel: Kernel | None
    rule: str
    rejected: tuple[tuple[str, str], ...] = ()
    inputs: tuple[tuple[int, Format], ...] = ()
    outputs: tuple[Format, ...] = ()


@dataclass(frozen=True)
class Assignment:
    """The graph with final formats (and the copies that they need), and the choice per node name.

    `bytes_copied` counts all copies between formats; `formats_proved` says that no choice of formats copies fewer bytes.
    The build decides what `asked_of` returns. A kernel sees the same values when it states its
    demands to the planner and when it is called; otherwise its scratch could belong to another variant of the kernel.
    """

    view: GraphView
    choices: Mapping[str, Choice]
    bytes_copied: int = 0
    formats_proved: bool = True
    objective: str = "balanced"
    features: frozenset[str] = frozenset()
    any_weights: bool = False
    loop_bytes: int = 0
    packs_weights: bool = False

    def format_line(self) -> str:
        """Returns a line of text with the bytes that copies between formats move."""
        if not self.bytes_copied:
            return "formats: nothing is copied"
        proof = (
            "no choice of formats copies fewer" if self.formats_proved else "not proved to be the fewest: the graph is too wide"
        )
        return f"formats: {self.bytes_copied:,} B are copied, {proof}"

    def node_view(self, node: Node) -> NodeView:
        """Returns the node as its kernel sees it: every tensor in the format that the kernel chose."""
        if node not in self._seen:
            self._seen[node] = self._as_seen(node)
        return self._seen[node]

    def renaming(self, names: Collection[str], rule: str) -> Assignment:
        """Returns the assignment in which these nodes only rename the bytes of their inputs, for the reason `rule`."""
        changed = {name: replace(self.choices[name], kernel=None, rule=rule) for name in names}
        return replace(self, choices={**self.choices, **changed})

    @cached_property
    def _seen(self) -> dict[Node, NodeView]:
        """The views that `node_view` has returned."""
        return {}

    def _as_seen(self, node: Node) -> NodeView:
        choice, written = self.choices[node.name], self.view.output_tensors(node)
        formats = dict(choice.inputs)
        inputs = tuple(
            _stored(tensor, formats[index]) if tensor is not None and index in formats else tensor
            for index, tensor in enumerate(self.view.input_tensors(node))
        )
        outputs = tuple(_stored(tensor, form) for tensor, form in zip(written, choice.outputs)) or written
        return NodeView(node, inputs, outputs, self.view, **asked_of(self))

    def __str__(self) -> str:
        return "\n".join(
            f"  {node.name}: {choice.kernel.library + ' ' + choice.kernel.name if choice.kernel else 'view'} ({choice.rule})"
            for node in self.view.nodes
            for choice in [self.choices[node.name]]
        )


def _stored(tensor: Tensor, form: Format) -> Tensor:
    return tensor if tensor.format == form else tensor.in_format(form)
