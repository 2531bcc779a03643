# SPDX-License-Identifier: MIT
"""The inherited spellings, for code that was written for the systems this project descends from.

    from aidge_build import compat as aidge_core        # in code of one's own
    compat.install_as("aidge_core")                     # before code is imported that cannot be changed

An export backend of that style (an `OperatorImpl` subclass with its own registry) is registered per operator with
`register_<Operator>Op(backend, implementation)`; `library(backend)` is then a kernel library like any other. This module is the
only place that keeps registrations for the whole process, because the inherited calls have no other place to put them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import aidge_build.compat.export_utils as export_utils  # a module of the package: `from` would read as a cycle
import aidge_build.compat.hw_model as hw_model
import aidge_build.compat.mem_info as mem_info
from aidge_build.base.errors import AidgeError
from aidge_build.compat.adopted import adopted
from aidge_build.compat.aliases import install_as
from aidge_build.compat.export_folder import scheduler_export
from aidge_build.compat.export_lib import ExportLib, live_libraries
from aidge_build.compat.export_main import generate_main, generate_main_compare
from aidge_build.compat.export_node import ExportNode
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.compat.generic_operator import GenericOperator
from aidge_build.compat.handles import InheritedNode as Node
from aidge_build.compat.handles import InheritedOperator as Operator
from aidge_build.compat.handles import InheritedTensor as Tensor
from aidge_build.compat.handles import MicroGraph
from aidge_build.compat.inherited_types import inherited_names, known_types, own_type, with_axes
from aidge_build.compat.load_onnx import load_onnx
from aidge_build.compat.log import Level, Log
from aidge_build.compat.mem_info import compute_default_mem_info, generate_optimized_memory_info
from aidge_build.compat.named_values import DynamicAttributes, Interpolation, PaddingMode, mandatory_attrs
from aidge_build.compat.operator_impl import Impl, OperatorHandle, OperatorImpl
from aidge_build.compat.placeholders import placeholder_names
from aidge_build.compat.prod_conso import Elts_t, IdentityProdConso, ProdConso
from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.compat.scheduler_calls import Scheduler
from aidge_build.contract.library import Kernel, Library, library_of
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ImplSpec, IOSpec, dformat
from aidge_build.graph.dtype import dtype
from aidge_build.graph.view import GraphView
from aidge_build.operators.backends import add_backends
from aidge_build.prepare.adaptation.adapt import adapt_to_backend as _adapt
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.adaptation.meta_operator import MetaOperator

__all__ = [
    "mandatory_attrs",
    "expand_metaops",
    "Tensor",
    "Scheduler",
    "PaddingMode",
    "Operator",
    "Node",
    "MetaOperator",
    "Log",
    "Level",
    "Interpolation",
    "GenericOperator",
    "Elts_t",
    "DynamicAttributes",
    "Assignment",
    "ExportLib",
    "ExportNode",
    "ExportNodeCpp",
    "GraphView",
    "IOSpec",
    "IdentityProdConso",
    "Impl",
    "ImplSpec",
    "OperatorHandle",
    "OperatorImpl",
    "ProdConso",
    "SequentialScheduler",
    "adapt_to_backend",
    "adopted",
    "compute_default_mem_info",
    "dformat",
    "dtype",
    "export_utils",
    "generate_main",
    "generate_main_compare",
    "generate_optimized_memory_info",
    "hw_model",
    "get_key_value_Tensor",
    "install_as",
    "library",
    "load_onnx",
    "mem_info",
    "register_Tensor",
    "scheduler_export",
]

globals().update(placeholder_names(""))

_registered: dict[str, dict[str, Callable]] = {}  # backend -> operator type, as it was named -> implementation


def _backends_of(operator_type: str, kinds: tuple[str, ...]) -> list[str]:
    """The backends that are registered for the operator, in the inherited way or as a library."""
    named = [backend for backend, types in _registered.items() if operator_type in map(own_type, types)]
    return [*named, *(library._name for library in live_libraries() if library.has_kernel(operator_type, kinds))]


add_backends(_backends_of)


class _OperatorClass:
    """FCOp and its like: the name of an operator type."""

    def __init__(self, type_name: str):
        self.Type = type_name

    def __repr__(self) -> str:
        return f"{self.Type}Op"


@cache
def _operator_types() -> frozenset[str]:
    """The inherited class names (without Op), which are types: `Conv2D`, `ReLU`, `Pad2D`; families alone, too."""
    return known_types() | inherited_names()


def __getattr__(name: str):
    """`FCOp`, `Conv2DOp`, ..., `register_FCOp`, `register_Conv2DOp`, ..."""
    stem = name.removeprefix("register_").removeprefix("get_keys_").removeprefix("get_key_value_").removesuffix("Op")
    if not name.endswith("Op") or stem not in _operator_types():
        raise AttributeError(f"module 'aidge_build.compat' has no attribute '{name}'")
    if name.startswith("register_"):
        return lambda backend, implementation: _register(backend, stem, implementation)
    if name.startswith("get_keys_"):
        return lambda: sorted(backend for backend, types in _registered.items() if stem in types)
    if name.startswith("get_key_value_"):
        return lambda backend: _registered.get(backend if isinstance(backend, str) else backend[0], {}).get(stem)
    return _OperatorClass(stem)


def _register(backend: str, operator_type: str, implementation: Callable) -> None:
    before = _registered.setdefault(backend, {}).setdefault(operator_type, implementation)
    if before is not implementation:
        raise AidgeError(f"backend {backend} has an implementation of {operator_type} already", code="REGISTRY")


def expand_metaops(graph: MicroGraph, recursive: bool = False) -> None:
    """Put the members of each meta-operator of the graph into its place."""
    graph.expand(recursive)


def register_Tensor(key: list, value: object) -> None:
    """Accepted, and not needed: a tensor has no backend."""


def get_key_value_Tensor(key: list) -> object:
    """Accepted, and not needed: a tensor has no backend."""
    return None


def library(backend: str) -> Library:
    """Everything that is registered for the backend, as a kernel library."""
    if backend not in _registered:
        raise AidgeError(f"no operator is registered for backend {backend!r}", code="LIBRARY", tried=sorted(_registered))
    kernels = [
        Kernel(
            backend,
            _kernel_name(implementation, operator_type, spec),
            own_type(operator_type),
            with_axes(spec, operator_type),
            _node_class(implementation, operator_type, spec),
        )
        for operator_type, implementation in sorted(_registered[backend].items())
        for spec in implementation(OperatorHandle(operator_type)).get_available_impl_specs()
    ]
    return Library(backend, "c", "", {}, tuple(kernels), ())


def _node_class(implementation: Callable, operator_type: str, spec: ImplSpec) -> type[KernelNode]:
    """The class that was registered for the spec, made an ExportNode where it is none."""
    found = getattr(implementation, "registry", {}).get(operator_type, {}).get(spec)
    if isinstance(found, type) and issubclass(found, KernelNode):
        return found
    return type(getattr(found, "__name__", f"{operator_type}Kernel"), (_NotGenerated,), {"implementation": found})


class _NotGenerated(KernelNode):
    """A kernel that can be chosen; what it generates is the business of the backend that brought it (`implementation`)."""

    implementation: object = None

    def call(self):
        raise AidgeError(
            f"kernel {type(self).__name__} is no ExportNode, so it says nothing that could be generated", code="KERNEL"
        )


def _kernel_name(implementation: Callable, operator_type: str, spec: ImplSpec) -> str:
    return _node_class(implementation, operator_type, spec).__name__


def adapt_to_backend(view: GraphView, backends: list[str | Library | type[ExportLib]], target: Target = Target()) -> Assignment:
    """The recipe with backends in order of preference: names of registered ones, libraries, or ExportLib classes."""
    return _adapt(view, [_library(backend) for backend in backends], target)


def _library(backend: str | Library | type[ExportLib]) -> Library:
    if isinstance(backend, Library):
        return backend
    return library(backend) if isinstance(backend, str) else library_of(backend)
