# SPDX-License-Identifier: MIT
"""The scopes of names in a graph within the graph, and the names' equivalents outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from aidge_build.base.errors import AidgeError
from aidge_build.sources.onnx_format import AttributeReference, ModelNode
from aidge_build.sources.onnx_format.model import AttributeValue

DEEPEST = 32  # calls of functions, branches and bodies in each other


@dataclass(eq=False)
class Frame:
    """The graph of the file, one use of a sub-graph, or one call of a function.

    `names` maps names within to names of the whole graph; a name that it lacks is looked up in `around`. The graph of the file
    has neither: its names are the names of the whole graph. `attributes` belong to the function call.
    """

    opsets: Mapping[str, int]
    names: dict[str, str] | None = None
    around: Frame | None = None
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    prefix: str = ""
    depth: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether this is the graph of the file itself."""
        return self.names is None

    def within(self, opsets: Mapping[str, int], around: Frame | None, **fields) -> Frame:
        """A frame one step further inside."""
        if self.depth == DEEPEST:
            raise AidgeError(
                f"functions and sub-graphs are nested more than {DEEPEST} deep",
                code="MODEL",
                hint="does a function call itself?",
            )
        return Frame(opsets, {}, around, depth=self.depth + 1, **fields)

    def outside(self, name: str) -> str:
        """Returns the name's equivalent in the whole graph; "" stays."""
        frame: Frame | None = self
        while frame is not None and name:
            if frame.names is None:
                return name
            if name in frame.names:
                return frame.names[name]
            frame = frame.around
        if name:
            raise AidgeError(f"nothing produces its input '{name}'", code="GRAPH")
        return ""

    def resolved(self, node: ModelNode, name_of: Callable[[str], str]) -> ModelNode:
        """The node in names of the whole, with the attributes of the call; `name_of` gives its outputs their names."""
        references = {key: value.name for key, value in node.attributes.items() if isinstance(value, AttributeReference)}
        if self.names is None:
            for key in references:
                raise AidgeError(f"attribute '{key}' refers to an attribute of a function", code="MODEL")
            return node
        attributes: dict[str, AttributeValue] = {key: value for key, value in node.attributes.items() if key not in references}
        attributes |= {key: self.attributes[name] for key, name in references.items() if name in self.attributes}
        inputs = tuple(map(self.outside, node.inputs))
        outputs = tuple(name_of(name) if name else "" for name in node.outputs)
        self.names.update(zip(node.outputs, outputs))
        name = f"{self.prefix}{node.name or f'{node.op_type}_{node.index}'}"
        return replace(node, name=name, inputs=inputs, outputs=outputs, attributes=attributes)


class Names:
    """Names that are taken."""

    def __init__(self, names: Iterable[str]):
        self._taken = set(names)
        self._count: dict[str, int] = {}

    def take(self, name: str) -> None:
        """Takes a name, free or not."""
        self._taken.add(name)

    def free(self, wanted: str) -> str:
        """Returns this name, or a free name that begins with it, and takes it."""
        name = wanted
        while name in self._taken:
            self._count[wanted] = self._count.get(wanted, 1) + 1
            name = f"{wanted}_{self._count[wanted]}"
        self._taken.add(name)
        return name
