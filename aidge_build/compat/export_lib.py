# SPDX-License-Identifier: MIT
"""ExportLib: a library in the template style, which registers its export nodes with decorators."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from aidge_build.compat.generic_operator import generic_operator
from aidge_build.compat.inherited import PADDED, PADDED_HANDLES, padded_type, restricted
from aidge_build.compat.operator_impl import OperatorImpl
from aidge_build.contract.implication import most_specific_first
from aidge_build.contract.kernel_files import KernelFiles
from aidge_build.contract.library import Kernel, KernelRegistry
from aidge_build.contract.node import KernelClass, KernelNode
from aidge_build.contract.spec import ImplSpec, NodeView
from aidge_build.errors import AidgeError
from aidge_build.naming import identifier
from aidge_build.operators.base import Operator


@dataclass(frozen=True)
class Registration:
    """One registered class. `pattern` is empty but for meta-operators, `handles` but for the types Padded..."""

    type: str
    spec: ImplSpec
    node_class: KernelClass
    pattern: str = ""
    handles: frozenset[str] = frozenset()

    def kernel(self, library: str) -> Kernel:
        """The registration as a kernel, which gets only nodes that the class handles."""
        name, spec = identifier(self.node_class.__name__), restricted(self.spec, self.node_class, self.handles)
        return Kernel(library, name, self.type, spec, self.node_class, self.pattern)


class ExportLib(OperatorImpl, KernelRegistry):
    """Base of export libraries: a subclass names itself, and its decorators fill a registry of its own (which begins with what
    the class that it extends has registered so far).

    `_name` is the library's name, `language` the language of its kernels ("c" or "c++") unless a library.toml says it,
    `static_files` maps files to their folder in a standalone export. Members of a meta-operator need no registration of
    their own, and no tensor backend is registered anywhere.
    """

    _name: ClassVar[str] = ""
    language: ClassVar[str] = ""
    static_files: ClassVar[dict[str, str]] = {}
    registry: ClassVar[list[Registration]] = []
    generic_operators: ClassVar[dict[str, type[Operator]]] = {}

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        cls.registry, cls.generic_operators = list(cls.registry), dict(cls.generic_operators)
        if not cls._name.isidentifier():
            raise AidgeError(
                f"the export library {cls.__name__} has the _name {cls._name!r}", code="LIBRARY", hint="an identifier"
            )

    def __init__(self, operator: NodeView):
        super().__init__(operator, self._name)

    @classmethod
    def register(cls, op_type: str | Sequence[str], spec: ImplSpec):
        """Register the decorated KernelNode for these operator types and this spec; a duplicate is an error."""
        return cls._registering(op_type, spec, "")

    @classmethod
    def register_generic(
        cls, op_type: str | Sequence[str], spec: ImplSpec, infer: Callable | None = None, forward: Callable | None = None
    ):
        """The same for operators that the tool does not know, as the model spells them ("Foo", "my.domain::Foo").

        `infer(inputs)` gives the (dims, dtype) of each output, by default of input 0; `forward(*arrays)` the numpy meaning,
        without which the operator cannot be verified.
        """
        for name in _types(op_type):
            cls.generic_operators[name] = generic_operator(name, infer, forward)
        return cls._registering([name.rpartition("::")[2] for name in _types(op_type)], spec, "")

    @classmethod
    def register_metaop(cls, op_type: str | Sequence[str], spec: ImplSpec, pattern: str = ""):
        """The same for several nodes at once: wherever the pattern fits and the spec accepts, they become one node of this type.

        Without a pattern the type itself is one (`Pad->Conv2D->ReLU?`), or one of the known compositions (`PaddedConv2D`: here
        it is a Conv2D with pads). A pattern is tried on the graph as the file holds it (for the first library), and again after
        the recipes.
        """
        for name in _types(op_type):
            if not (pattern or "->" in name or padded_type(name)):
                raise AidgeError(
                    f"the meta-operator {name} needs a pattern",
                    where=cls._name,
                    code="LIBRARY",
                    hint=f'register_metaop("{name}", spec, "Pad->Conv2D->ReLU?")',
                )

        def mark(node_class: type[KernelNode]) -> type[KernelNode]:
            for name in _types(op_type):
                plain = "" if pattern else padded_type(name)
                if plain:
                    padded = replace(spec, predicates=(*spec.predicates, PADDED))
                    cls._add(Registration(plain, padded, node_class, handles=PADDED_HANDLES))
                else:
                    cls._add(Registration(name, spec, node_class, pattern or name))
            return node_class

        return mark

    @classmethod
    def _registering(cls, op_type: str | Sequence[str], spec: ImplSpec, pattern: str):
        def mark(node_class: type[KernelNode]) -> type[KernelNode]:
            for name in _types(op_type):
                cls._add(Registration(name, spec, node_class, pattern))
            return node_class

        return mark

    @classmethod
    def _add(cls, entry: Registration) -> None:
        for other in cls.registry:
            if (other.type, other.spec, other.pattern) == (entry.type, entry.spec, entry.pattern):
                raise AidgeError(
                    f"{other.node_class.__name__} and {entry.node_class.__name__} register the same spec for {entry.type}: "
                    f"{entry.spec}",
                    where=cls._name,
                    code="LIBRARY",
                    hint="a spec must say what tells the kernel apart",
                )
        cls.registry.append(entry)

    @classmethod
    def library_name(cls) -> str:
        return cls._name

    @classmethod
    def registered_kernels(cls) -> list[Kernel]:
        """The registry as kernels of a library."""
        return [entry.kernel(cls._name) for entry in cls.registry]

    @classmethod
    def registered_operators(cls) -> list[type[Operator]]:
        return list(cls.generic_operators.values())

    @classmethod
    def library_language(cls) -> str:
        return cls.language

    @classmethod
    def static_contents(cls) -> dict[str, bytes]:
        said = next(one for one in cls.__mro__ if "static_files" in vars(one))  # a class that extends it may lie elsewhere
        files, found = KernelFiles.of(said), dict[str, bytes]()
        for path, target in cls.static_files.items():
            name, data = posixpath.normpath(posixpath.join(target, Path(path).name)), files.read(path)
            if name.startswith(("../", "/")):
                raise AidgeError(f"the static file {name} would be outside of the folder", where=cls._name, code="LIBRARY")
            if found.setdefault(name, data) != data:
                raise AidgeError(f"two static files become {name}", where=cls._name, code="LIBRARY")
        return found

    def get_available_impl_specs(self) -> list[ImplSpec]:
        """The specs that are registered for the operator's type."""
        return [entry.spec for entry in self.registry if entry.type == self.get_operator().node.type]

    def get_export_node(self, spec: ImplSpec) -> type[KernelNode] | None:
        """The class that is registered for this spec, else for the most specific one that accepts it; None when there is none."""
        own = {entry.spec: entry.node_class for entry in self.registry if entry.type == self.get_operator().node.type}
        if spec in own:
            return own[spec]
        accepting = [known for known in own if not known.rejection_of(spec.inputs, spec.outputs)]
        best = most_specific_first(accepting, lambda known: known, lambda known: (str(known),))
        return own[best[0]] if best else None


def _types(op_type: str | Sequence[str]) -> list[str]:
    return [op_type] if isinstance(op_type, str) else list(op_type)
