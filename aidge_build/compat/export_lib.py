# SPDX-License-Identifier: MIT
"""ExportLib: a library in the template style, which registers its export nodes with decorators."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, cast

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import identifier
from aidge_build.compat.aliases import is_installed
from aidge_build.compat.compositions import SLEEPING, Composition, composition_of
from aidge_build.compat.export_node import ExportNode, derived
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.compat.generic_operator import generic_operator
from aidge_build.compat.inherited import restricted
from aidge_build.compat.inherited_types import own_pattern, own_type, require_known, with_axes
from aidge_build.compat.open_orders import CHANNELS_BEHIND, opened, order_of, parameter_order
from aidge_build.compat.operator_impl import OperatorImpl
from aidge_build.compat.prod_conso import ProdConso, demanded_by
from aidge_build.contract.implication import most_specific_first
from aidge_build.contract.kernel_files import KernelFiles
from aidge_build.contract.library import Kernel, KernelRegistry
from aidge_build.contract.node import KernelClass, KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ROW_MAJOR, Demands, DFormat, ImplSpec, NodeView
from aidge_build.graph.pattern import is_pattern
from aidge_build.operators.base import Operator

ModelOf = Callable[..., ProdConso]


@dataclass(frozen=True)
class Registration:
    """One registered class. `pattern` is empty except for meta-operators that a pattern finds; `handles` are conditions that the
    composition adds to the conditions of the class; `model_of` is the producer-consumer model of the registration."""

    type: str
    spec: ImplSpec
    node_class: KernelClass
    pattern: str = ""
    handles: frozenset[str] = frozenset()
    model_of: ModelOf | None = None

    def in_own_types(self) -> Registration:
        """The registration with the types that nodes have here, for nodes with as many axes as its names say."""
        text = self.pattern or self.type
        own = self.type if self.pattern else own_type(self.type)
        return replace(self, type=own, spec=with_axes(self.spec, text), pattern=own_pattern(self.pattern))

    def kernel(self, library: str, order: DFormat, known: Mapping[str, object]) -> Kernel:
        """The registration as a kernel, which gets only nodes that the class handles; `order` is the library's storage order,
        `known` is what classes in the template style know of their library."""
        node_class, spec, name = self._node_class(order, known), self.spec, identifier(self.node_class.__name__)
        if issubclass(node_class, ExportNodeCpp):
            spec = opened(spec, self.pattern or self.type, order)
        return Kernel(library, name, self.type, restricted(spec, node_class), node_class, self.pattern)

    def _node_class(self, order: DFormat, known: Mapping[str, object]) -> KernelClass:
        """Returns the class with the attributes that the registration adds."""
        written, said = generating(self.node_class), dict[str, object]()
        if self.handles:
            said["handles"] = self.handles | frozenset(getattr(written, "handles", ()))
        if self.model_of is not None:
            said["demands"] = classmethod(lambda cls, view: _with_planes(cls, demanded_by(self.model_of, view), view))
        if issubclass(written, ExportNodeCpp) and written.parameter_format is ANY:
            said["parameter_format"] = parameter_order(self.spec, self.pattern or self.type, order)
        if issubclass(written, ExportNodeCpp):
            said |= known
        return derived(written, said) if said else written


class ExportLib(OperatorImpl, KernelRegistry):
    """Base of export libraries: a subclass names itself, and its decorators fill a registry of its own (which begins with what
    the class that it extends has registered so far).

    `_name` is the library's name, `language` the language of its kernels ("c" or "c++") unless a library.toml says it,
    `static_files` maps files to their folder in a standalone export, `_default_dformat` is the storage order of its kernels if
    a spec names none. Members of a meta-operator need no registration of their own, and no tensor backend is registered
    anywhere.
    """

    _name: ClassVar[str] = ""
    language: ClassVar[str] = ""
    static_files: ClassVar[dict[str, str]] = {}
    registry: ClassVar[list[Registration]] = []
    generic_operators: ClassVar[dict[str, type[Operator]]] = {}
    notices: ClassVar[list[str]] = []
    _default_dformat: ClassVar[DFormat] = ANY
    constants: ClassVar[type[KernelNode] | None] = None  # the class that is registered for Producer
    tried: ClassVar[bool] = False  # whether `scheduler_export` tries its kernels before it takes them (`trial`)

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        cls.registry, cls.generic_operators, cls.notices = list(cls.registry), dict(cls.generic_operators), list(cls.notices)
        cls.tried = cls.tried or is_installed() and KernelFiles.of(cls).files is None
        if not cls._name.isidentifier():
            raise AidgeError(
                f"the export library {cls.__name__} has the _name {cls._name!r}", code="LIBRARY", hint="an identifier"
            )

    def __init__(self, operator: NodeView):
        super().__init__(operator, self._name)

    @classmethod
    def register(cls, op_type: str | Sequence[str], spec: ImplSpec, prod_conso: ModelOf | None = None):
        """Register the decorated KernelNode for these operator types and this spec; of two for the same spec the later one holds.

        `prod_conso` is the producer-consumer model of the kernel: a function of the operator, which says what the planner may do.
        """
        return cls._registering(op_type, spec, prod_conso)

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
        return cls._registering([name.rpartition("::")[2] for name in _types(op_type)], spec)

    @classmethod
    def register_metaop(
        cls, op_type: str | Sequence[str], spec: ImplSpec | str, pattern: ImplSpec | str = "", prod_conso: ModelOf | None = None
    ):
        """The same for several nodes at once: wherever the pattern fits and the spec accepts, they become one node of this type.

        Without a pattern the type itself is one (`Pad->Conv2D->ReLU?`), or one of the known compositions (`PaddedConv2D`,
        `ConvAct`: here each is one operator with pads, a clamp, or both). Any other name is registered, and no node ever gets it:
        `explain` says so. A pattern is tried on the graph as the file holds it (for the first library), and again after the
        recipes. The inherited order of arguments is pattern (`recipe`), spec, producer-consumer model.
        """
        if isinstance(spec, str):
            return cls._registering_recipe(op_type, spec, cast(ImplSpec, pattern), prod_conso)
        if isinstance(pattern, str) and pattern:
            return cls._registering(op_type, spec, prod_conso, pattern)
        model_of = prod_conso or (None if isinstance(pattern, str) else cast(ModelOf, pattern))
        return cls._registering_recipe(op_type, "", spec, model_of)

    @classmethod
    def _registering_recipe(cls, op_type: str | Sequence[str], recipe: str, spec: ImplSpec, model_of: ModelOf | None):
        def mark(node_class: type[KernelNode]) -> type[KernelNode]:
            for name in _types(op_type):
                found = composition_of(name, recipe)
                if isinstance(found, Composition):
                    cls._add(Registration(found.type, found.spec(spec), node_class, "", found.handles, model_of))
                elif found is None and is_pattern(recipe or name):
                    cls._add(Registration(name, spec, node_class, recipe or name, frozenset(), model_of))
                else:
                    cls._sleep(name, found or _unknown(name, recipe))
            return node_class

        return mark

    @classmethod
    def _registering(cls, op_type: str | Sequence[str], spec: ImplSpec, model_of: ModelOf | None = None, pattern: str = ""):
        def mark(node_class: type[KernelNode]) -> type[KernelNode]:
            for name in _types(op_type):
                if name in SLEEPING and not pattern:
                    cls._sleep(name, SLEEPING[name])
                    cls.constants = node_class if name == "Producer" else cls.constants
                    continue
                cls._add(Registration(name, spec, node_class, pattern, frozenset(), model_of))
            return node_class

        return mark

    @classmethod
    def _sleep(cls, name: str, reason: str) -> None:
        cls.notices = list(dict.fromkeys([*cls.notices, f"{name} is registered and never taken: {reason}"]))

    @classmethod
    def _add(cls, entry: Registration) -> None:
        entry = entry.in_own_types()
        if not entry.pattern:
            own = {*(each.type for each in cls.registry), *(name.rpartition("::")[2] for name in cls.generic_operators)}
            require_known(entry.type, own, f"{cls._name}: {entry.node_class.__name__}")
        key = (entry.type, entry.spec, entry.pattern)
        for place, other in enumerate(cls.registry):
            if key != (other.type, other.spec, other.pattern):
                continue
            if other.node_class is not entry.node_class:
                first, second = other.node_class.__qualname__, entry.node_class.__qualname__
                cls.notices = [
                    *cls.notices,
                    f"{first} is never taken: {second} is registered later with the same spec for {entry.type}",
                ]
            cls.registry[place] = entry
            return
        cls.registry.append(entry)

    @classmethod
    def library_name(cls) -> str:
        return cls._name

    @classmethod
    def registered_kernels(cls) -> list[Kernel]:
        """The registry as kernels of a library."""
        known: dict[str, object] = {"is_foreign": True} if cls.tried else {}
        if cls.static_files:
            known["static_names"] = [f"{target}/{Path(path).name}" for path, target in cls.static_files.items()]
        order = cls.storage_order()
        return [entry.kernel(cls._name, order, known) for entry in cls.registry]

    @classmethod
    def storage_order(cls) -> DFormat:
        """The order of images that the kernels take where their specs leave it open."""
        if cls._default_dformat is not ANY:
            return CHANNELS_LAST if cls._default_dformat in CHANNELS_BEHIND else ROW_MAJOR
        return order_of((entry.spec for entry in cls.registry), cls.constants)

    @classmethod
    def library_notices(cls) -> list[str]:
        return list(cls.notices)

    @classmethod
    def registered_operators(cls) -> list[type[Operator]]:
        return list(cls.generic_operators.values())

    @classmethod
    def library_language(cls) -> str:
        return cls.language

    @classmethod
    def static_contents(cls) -> dict[str, bytes]:
        said = next(one for one in cls.__mro__ if "static_files" in vars(one))  # a class that extends it may be in another folder
        files, found = KernelFiles.of(said), dict[str, bytes]()
        for path, target in cls.static_files.items():
            name, data = posixpath.normpath(posixpath.join(target, Path(path).name)), files.read(path)
            if name.startswith(("../", "/")):
                raise AidgeError(f"the static file {name} would be outside of the folder", where=cls._name, code="LIBRARY")
            if found.setdefault(name, data) != data:
                raise AidgeError(f"two static files become {name}", where=cls._name, code="LIBRARY")
        return found

    @classmethod
    def has_kernel(cls, operator_type: str, kinds: Sequence[str] = ()) -> bool:
        """Whether a class is registered for the type or one of the kinds."""
        return any(entry.type in (operator_type, *kinds) and not entry.pattern for entry in cls.registry)

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


def _unknown(name: str, recipe: str) -> str:
    if recipe:
        return f"its recipe {recipe!r} is no pattern here"
    return f"nothing says which nodes it covers: register_metaop({name!r}, 'Conv2D->ReLU', spec) does"


def _with_planes(node_class: KernelClass, demands: Demands, view: NodeView) -> Demands:
    return node_class.knowing_planes(demands, view) if issubclass(node_class, ExportNodeCpp) else demands


def generating(node_class: KernelClass) -> KernelClass:
    """Returns the class; one with its own `forward` and no `call` gets the `call` of the template style, which makes a function
    of the forward text."""
    has_text = issubclass(node_class, ExportNode) and hasattr(node_class, "forward")
    if not has_text or issubclass(node_class, ExportNodeCpp) or node_class.call is not KernelNode.call:
        return node_class
    none = {"config_template": "", "forward_template": "", "include_list": (), "kernels_to_copy": ()}
    return derived(node_class, none, ExportNodeCpp)


def live_libraries() -> list[type[ExportLib]]:
    """Every export library of this process."""
    found, waiting = list[type[ExportLib]](), ExportLib.__subclasses__()
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1].__subclasses__()
    return found
