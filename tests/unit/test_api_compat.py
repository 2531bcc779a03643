# SPDX-License-Identifier: MIT
"""A backend in the inherited spelling: that of the seed document, and one of our own that says the same."""

from __future__ import annotations

import re

import numpy
import pytest

from aidge_build import compat
from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.operators.matmul import FC
from tests.shared import SHARED, shared

OWN = """
class MyBackend(aidge_core.OperatorImpl):
    registry = {}

    def __init__(self, operator):
        super().__init__(operator, "export_arm_cortexm")

    def get_available_impl_specs(self):
        return list(self.registry.get(self.get_operator().type(), {}))

    @classmethod
    def register(cls, type, spec):
        def decorator(kernel):
            cls.registry.setdefault(type, {})[spec] = kernel
            return kernel
        return decorator

@MyBackend.register(aidge_core.FCOp.Type, aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.int16)))
class FCOpKernel:
    pass

aidge_core.register_FCOp("export_arm_cortexm", MyBackend)
aidge_core.register_ReLUOp("export_arm_cortexm", MyBackend)
aidge_core.register_Tensor(
    ["export_arm_cortexm", aidge_core.dtype.float32], aidge_core.get_key_value_Tensor(["cpu", aidge_core.dtype.float32]))
"""


def seed() -> str:
    text = shared(SHARED / "seeds" / "002_e595d422c9ca86d0.txt").read_text()
    return re.search(r"^# Export class for.*?(?=^Edited)", text, re.MULTILINE | re.DOTALL)[0]


@pytest.fixture(params=["own", "seed"])
def backend(request, monkeypatch):
    """The code, executed with our module under the inherited name."""
    monkeypatch.setattr(compat, "_registered", {})
    code = OWN if request.param == "own" else seed().replace("aidge_core.", "aidge_build_compat.")
    exec(compile(code, request.param, "exec"), {"aidge_core": compat, "aidge_build_compat": compat})
    return "export_arm_cortexm"


def fully_connected(kind: compat.dtype) -> GraphView:
    values = [constant(name, numpy.ones(dims, kind.numpy)) for name, dims in (("w", (3, 4)), ("b", (3,)))]
    tensors = {"x": Tensor("x", (1, 4), kind), "y": Tensor("y", (1, 3), kind), **{tensor.name: tensor for tensor in values}}
    return graph_view("fc", [Node("fc", FC(), ("x", "w", "b"), ("y",))], tensors, ["x"], ["y"])


def test_adaptation_picks_the_registered_int16_kernel(backend):
    choice = compat.adapt_to_backend(fully_connected(compat.dtype.int16), [backend]).choices["fc"]
    assert (choice.kernel.library, choice.kernel.name) == ("export_arm_cortexm", "FCOpKernel")
    assert choice.kernel.spec == compat.ImplSpec(compat.IOSpec(compat.dtype.int16))


def test_an_int8_operator_is_rejected_with_the_reason(backend):
    with pytest.raises(
        AidgeError,
        match=r"node 'fc' \(FC\): no kernel accepts it\. "
        r"Tried: export_arm_cortexm FCOpKernel \(input 0 is int8, wants int16\)",
    ):
        compat.adapt_to_backend(fully_connected(compat.dtype.int8), [backend])


def test_operators_are_named_by_type_and_dimension():
    assert [
        compat.FCOp.Type,
        compat.Conv2DOp.Type,
        compat.ConvDepthWise2DOp.Type,
        compat.MaxPooling2DOp.Type,
        compat.ReLUOp.Type,
    ] == ["FC", "Conv2D", "ConvDepthWise2D", "MaxPooling2D", "ReLU"]
    with pytest.raises(AttributeError):
        compat.NoSuchOp


@pytest.mark.requirement("REGISTRY")
def test_two_implementations_of_one_operator_in_one_backend_are_refused(backend):
    with pytest.raises(AidgeError, match="has an implementation of FC already"):
        compat.register_FCOp(backend, object)


def test_an_unknown_backend_is_named():
    with pytest.raises(AidgeError, match="no operator is registered for backend 'nowhere'"):
        compat.library("nowhere")
