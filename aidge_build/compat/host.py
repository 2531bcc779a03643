# SPDX-License-Identifier: MIT
"""Further backends that execute on this machine, in addition to the numpy backend `cpu`, which is always the last choice."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakSet

from aidge_build.base.errors import AidgeError
from aidge_build.compat.operator_impl import Impl, OperatorImpl
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.spec import ImplSpec, NodeView
from aidge_build.operators.backends import add_backends

_live: WeakSet[HostBackend] = WeakSet()


class HostBackend:
    """A named set of implementations: `@backend.register("ReLU", spec)` on a function (view, values) that returns the outputs."""

    def __init__(self, name: str):
        if not name.isidentifier() or name == "cpu":
            raise AidgeError(f"{name!r} is no name for a further backend", code="REGISTRY", hint="an identifier other than cpu")
        self.name = name
        self._impls: dict[str, dict[ImplSpec, Impl]] = {}
        _live.add(self)

    def register(
        self,
        op_type: str,
        spec: ImplSpec,
        prod_conso: Callable[[NodeView], ProdConso] = ProdConso.default_model,
        backward: Callable | None = None,
    ):
        """Register the decorated function as the forward kernel of this spec; a duplicate is an error."""

        def mark(forward: Callable) -> Callable:
            if spec in self._impls.setdefault(op_type, {}):
                raise AidgeError(f"two implementations of {op_type} for {spec}", where=self.name, code="REGISTRY")
            self._impls[op_type][spec] = Impl(prod_conso, forward, backward)
            return forward

        return mark

    def accepting(self, view: NodeView) -> OperatorImpl | None:
        """The operator in this backend where one of its implementations accepts it as it is."""
        impl = self.operator_impl(view)
        return impl if impl.get_best_match() is not None else None

    def operator_impl(self, view: NodeView) -> OperatorImpl:
        """The operator in this backend."""
        return _HostImpl(view, self)


class _HostImpl(OperatorImpl):
    def __init__(self, view: NodeView, backend: HostBackend):
        super().__init__(view, backend.name)
        self._impls = backend._impls.get(view.node.type, {})

    def get_available_impl_specs(self) -> list[ImplSpec]:
        return list(self._impls)

    def get_impl(self, spec: ImplSpec) -> Impl:
        return self._impls[spec]


def _backends_of(operator_type: str, kinds: tuple[str, ...]) -> list[str]:
    return [backend.name for backend in _live if operator_type in backend._impls]


add_backends(_backends_of)
