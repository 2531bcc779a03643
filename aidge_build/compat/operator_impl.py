# SPDX-License-Identifier: MIT
"""One operator in one backend: which specs it has there, which of them fits, and what it costs to make another fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.compat.inherited_types import inherited_name, own_type
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.implication import most_specific_first
from aidge_build.contract.spec import ImplSpec, IOSpec, NodeView
from aidge_build.operators.backends import registered_backends
from aidge_build.prepare.adaptation.conversions import Adaptation, adaptation, in_row_major

Forward = Callable[[NodeView, Sequence[numpy.ndarray | None]], tuple[numpy.ndarray, ...]]
Backward = Callable[[NodeView, Sequence[numpy.ndarray | None], Sequence[numpy.ndarray]], tuple[numpy.ndarray | None, ...]]


@dataclass(frozen=True)
class Impl:
    """The implementation of one spec: its producer-consumer model, and its kernels where it runs on the host.

    `forward(view, values)` gives the outputs; `backward(view, values, output_gradients)` the gradients of the inputs.
    """

    prod_conso: Callable[[NodeView], ProdConso] = ProdConso.default_model
    forward: Forward | None = None
    backward: Backward | None = None


class OperatorHandle:
    """An operator as the inherited API hands it out: `type()`, `name()`, and everything that its place in the graph (`view`) has.

    The handle of a type alone, before there is a graph, knows the type.
    """

    def __init__(self, view: NodeView | str):
        self.view = view

    def type(self) -> str:
        """The operator's type under its inherited name, e.g. Conv2D, Pad2D."""
        return self.view if isinstance(self.view, str) else inherited_name(self.view.node.type, self.view.outputs[0].rank)

    def name(self) -> str:
        """The node's name; "" if the handle has only a type and no node."""
        return "" if isinstance(self.view, str) else self.view.node.name

    def get_available_backends(self) -> tuple[str, ...]:
        """The names of the backends that have an implementation for the operator's type."""
        if isinstance(self.view, str):
            return ("cpu", *registered_backends(own_type(self.view), ()))
        return self.view.operator.get_available_backends()

    def __getattr__(self, name: str):
        return getattr(self.view, name)


class OperatorImpl:
    """An operator at its place (`NodeView`) in the backend of this name. Backends override `get_available_impl_specs`."""

    def __init__(self, operator: NodeView | OperatorHandle | str, backend: str = ""):
        self._operator = cast(NodeView, operator.view if isinstance(operator, OperatorHandle) else operator)
        self._backend = backend

    def backend(self) -> str:
        """The backend's name."""
        return self._backend

    def get_operator(self) -> OperatorHandle:
        """The operator as the inherited API hands it out."""
        return OperatorHandle(self._operator)

    def get_available_impl_specs(self) -> list[ImplSpec]:
        """The specs under which the backend has an implementation of this operator's type."""
        return []

    def get_impl(self, spec: ImplSpec) -> Impl:
        """The implementation that is registered under this very spec."""
        return Impl()

    def get_required_spec(self) -> ImplSpec:
        """The present types, formats and dims of the operator's tensors; an input that is not given may be anything."""
        seen = in_row_major(self._operator)
        inputs = tuple(IOSpec() if tensor is None else IOSpec.of(tensor) for tensor in seen.inputs)
        return ImplSpec(inputs or (IOSpec(),), tuple(map(IOSpec.of, seen.outputs)))

    def get_rejections(self, required: ImplSpec | None = None) -> list[tuple[ImplSpec, str]]:
        """Every available spec that does not accept the operator as it is, with the reason."""
        return [(spec, reason) for spec, reason in self._judged(required) if reason]

    def get_best_match(self, required: ImplSpec | None = None) -> ImplSpec | None:
        """The most specific spec that accepts the operator without adaptation; None when there is none.

        `get_rejections` says why. The order in which specs were registered does not matter.
        """
        return next((spec for spec, reason in self._judged(required) if not reason), None)

    def get_adaptation(self, spec: ImplSpec, required: ImplSpec | None = None) -> Adaptation | None:
        """The conversions around the operator with which `spec` accepts it; None when no conversion helps."""
        found = adaptation(in_row_major(self._operator), spec, self._or_own(required))
        return found if isinstance(found, Adaptation) else None

    def get_best_adaptation(self, required: ImplSpec | None = None) -> Adaptation | None:
        """The adaptation that moves the fewest bytes over all available specs (none at all where a spec fits as it is)."""
        found = [self.get_adaptation(spec, required) for spec in _most_specific_first(self.get_available_impl_specs())]
        return min((one for one in found if one is not None), key=lambda one: one.cost_bytes, default=None)

    def prod_conso(self) -> ProdConso:
        """The elements that the operator requires, protects and produces, by the model of the matching
        implementation or the default one."""
        spec = self.get_best_match()
        return (self.get_impl(spec) if spec is not None else Impl()).prod_conso(self._operator)

    def get_prod_conso(self) -> ProdConso:
        """The same model at each call."""
        if not hasattr(self, "_prod_conso"):
            self._prod_conso = self.prod_conso()
        return self._prod_conso

    def forward(self, *values: numpy.ndarray | None) -> tuple[numpy.ndarray, ...]:
        """The outputs for these input values, where the backend runs on the host."""
        return self._kernel("forward")(self._operator, values)

    def backward(self, values: Sequence[numpy.ndarray | None], output_gradients: Sequence[numpy.ndarray]) -> tuple:
        """The gradients of the inputs, where the backend has them."""
        return self._kernel("backward")(self._operator, values, output_gradients)

    def _kernel(self, direction: str):
        where = self._operator.node.where()
        spec = self.get_best_match()
        if spec is None:
            raise AidgeError(
                f"backend {self._backend} does not accept it",
                where=where,
                code="KERNEL",
                tried=[f"{spec} ({reason})" for spec, reason in self.get_rejections()],
            )
        kernel = getattr(self.get_impl(spec), direction)
        if kernel is None:
            raise AidgeError(
                f"backend {self._backend} has no {direction} kernel that runs here",
                where=where,
                code="KERNEL",
                hint="an export backend generates code; aidge-build verify runs it",
            )
        return kernel

    def _or_own(self, required: ImplSpec | None) -> ImplSpec:
        return self.get_required_spec() if required is None else required

    def _judged(self, required: ImplSpec | None) -> list[tuple[ImplSpec, str]]:
        wanted = self._or_own(required)
        return [(spec, self._rejection(spec, wanted)) for spec in _most_specific_first(self.get_available_impl_specs())]

    def _rejection(self, spec: ImplSpec, required: ImplSpec) -> str:
        found = adaptation(in_row_major(self._operator), spec, required)
        if not isinstance(found, Adaptation):
            return found
        return "" if not found.steps else f"needs {', '.join(map(str, found.steps))}"


def _most_specific_first(specs: Sequence[ImplSpec]) -> list[ImplSpec]:
    return most_specific_first(specs, lambda spec: spec, lambda spec: (str(spec),))
