# SPDX-License-Identifier: MIT
"""Lines of the inherited documents that were found to work in part, each by what it says."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import compat
from aidge_build.base.errors import AidgeError
from aidge_build.compat.host import HostBackend
from aidge_build.compat.inherited_types import own_pattern
from aidge_build.contract.library import library_of
from aidge_build.contract.spec import ImplSpec, IOSpec, NodeView, dformat
from aidge_build.graph.dtype import C_TYPES, dtype
from aidge_build.graph.format import channels_last
from aidge_build.prepare.adaptation.fuse_meta import fuse_meta
from aidge_build.prepare.adaptation.match import Target
from tests.models import graph, types

FLOAT = ImplSpec(IOSpec(dtype.float32))
PADDED = graph(
    "a = Pad(x, by) y = Tanh(a)",
    inputs="float[1,2,4,5] x",
    outputs="float[1,2,6,7] y",
    constants={"by": numpy.array([0, 0, 1, 1, 0, 0, 1, 1])},
)
MATRIX = graph(
    "a = Pad(x, by) y = Gemm<transB=1>(a, w, b)",
    inputs="float[1,4] x",
    outputs="float[1,3] y",
    constants={"by": numpy.array([0, 1, 0, 1]), "w": numpy.ones((3, 6), numpy.float32), "b": numpy.ones(3, numpy.float32)},
)


def lib() -> type[compat.ExportLib]:
    class Lib(compat.ExportLib):
        _name = "letter"

    return Lib


def seen(view=PADDED, index=0) -> NodeView:
    return NodeView.of(view, view.nodes[index])


def test_an_export_library_is_an_operator_implementation_of_the_core():
    assert issubclass(compat.ExportLib, compat.OperatorImpl) and issubclass(lib(), compat.OperatorImpl)


def test_the_operator_of_a_library_and_of_a_backend_of_one_s_own_answers_its_type():
    assert lib()(seen()).get_operator().type() == compat.OperatorImpl(seen(), "any").get_operator().type() == "Pad2D"
    assert lib()(seen(PADDED, 1)).get_operator().name() == PADDED.nodes[1].name


@pytest.mark.parametrize(
    "name", ["Pad2D", "BatchNorm2D", "Producer", "MetaOperator", "GenericOperator", "PaddedConv2D", "Memorize", "Pop", "Move"]
)
def test_every_operator_of_the_documents_has_a_class_and_a_registrar(name, monkeypatch):
    monkeypatch.setattr(compat, "_registered", {})
    assert getattr(compat, f"{name}Op").Type == name
    getattr(compat, f"register_{name}Op")("letter", compat.OperatorImpl)
    assert getattr(compat, f"get_keys_{name}Op")() == ["letter"]
    assert getattr(compat, f"get_key_value_{name}Op")("letter") is compat.OperatorImpl


def test_pad2d_and_batch_norm2d_mean_what_they_mean_there():
    library = lib()
    library.register(["Pad2D", "BatchNorm2D"], FLOAT)(compat.ExportNode)
    kernels = library_of(library).kernels
    assert [kernel.type for kernel in kernels] == ["Pad", "BatchNormalization"]
    assert not kernels[0].rejection(seen(), (), "onnx")
    assert "2D" in kernels[0].rejection(seen(MATRIX), (), "onnx")


@pytest.mark.parametrize("pattern", ["Pad2D->Tanh", "Pad2D#first->Tanh", "(Pad2D|ReLU)->Tanh"])
def test_a_pattern_of_a_meta_operator_may_name_inherited_types(pattern):
    library = lib()
    library.register_metaop("PadTanh", FLOAT, pattern)(type("Node", (compat.ExportNode,), {"handles": ("pads",)}))
    assert types(fuse_meta(PADDED, [library_of(library)], Target())) == ["PadTanh"]
    assert own_pattern("MyPad2D->X#Pad2D->BatchNorm1D[Pad2D]") == "MyPad2D->X#Pad2D->BatchNormalization[Pad2D]"


@pytest.mark.parametrize("name, near", [("Nonsense", ""), ("Conv", "Conv1D; Conv2D; Conv3D"), ("Relu", "ReLU")])
def test_a_type_that_no_operator_has_is_refused_by_name(name, near):
    with pytest.raises(AidgeError, match=f"no operator has the type '{name}'.*{near}"):
        lib().register(name, FLOAT)(compat.ExportNode)


def test_a_type_of_the_library_s_own_is_known_to_it():
    library = lib()
    library.register_generic("my.domain::Halve", FLOAT)(compat.ExportNode)
    library.register("Halve", ImplSpec(IOSpec(dtype.int8)))(compat.ExportNode)
    assert [entry.type for entry in library.registry] == ["Halve", "Halve"]


def test_the_constructor_takes_the_documented_names_and_the_map_of_types_the_documented_values():
    node = compat.ExportNode(aidge_node=seen(), mem_info=[{"size": 672, "offset": 64}], conversion_map={dtype.float32: "real"})
    assert node.attributes["mem_info_offset"] == [64] and node.attributes["in_cdtype"] == ["real"]
    given = compat.ExportNode(seen()).conversion_map
    assert {**given, dtype.float16: C_TYPES[dtype.float16]} == C_TYPES and given[dtype.float16] == "half_float::half"


def test_the_border_of_the_graph_is_told_to_a_constructor_that_wants_it():
    class Bordered(compat.ExportNode):
        def __init__(self, node, mem_info, is_input, is_output):
            super().__init__(node, mem_info)
            self.border = is_input, is_output

    assert [Bordered(seen(PADDED, index)).border for index in (0, 1)] == [(True, False), (False, True)]


def test_a_constant_is_named_as_its_producer_s_output():
    assert compat.ExportNode(seen(MATRIX, 1)).attributes["in_name"][1:] == ["w_output_0", "b_output_0"]
    gemm = MATRIX.nodes[1].with_(inputs=("a", "w", "w"))
    tensors = (MATRIX.tensor("a"), MATRIX.tensor("w"), MATRIX.tensor("w"))
    twice = NodeView(gemm, tensors, (MATRIX.tensor("y"),), MATRIX)
    assert compat.ExportNode(twice).attributes["in_name"][1:] == ["w_output_0"] * 2
    alike = {"a.b": numpy.ones(3, numpy.float32), "a_b": numpy.zeros(3, numpy.float32)}
    clash = graph("y = Add(x, z)", inputs="float[3] x, float[3] z", outputs="float[3] y")
    node, tensors = clash.nodes[0].with_(inputs=tuple(alike)), {**clash.tensors}
    for name, values in alike.items():
        tensors[name] = clash.tensor("x").with_(name=name, data=values)
    view = NodeView(node, tuple(tensors[name] for name in alike), (clash.tensor("y"),), None)
    assert compat.ExportNode(view).attributes["in_name"] == [f"{node.name}_input_0", f"{node.name}_input_1"]


def test_dims_are_there_in_the_order_of_storage_too():
    moved = [tensor.with_(format=channels_last(4)) for tensor in (*seen().inputs, *seen().outputs)]
    attributes = compat.ExportNode(NodeView(seen().node, tuple(moved[:1]), tuple(moved[1:]), PADDED)).attributes
    assert attributes["in_dims"] == [[1, 2, 4, 5]] and attributes["in_stored_dims"] == [[1, 4, 5, 2]]
    assert attributes["out_stored_dims"] == [[1, 6, 7, 2]]


def test_backends_that_are_registered_count_as_available(monkeypatch):
    monkeypatch.setattr(compat, "_registered", {})
    view, host, library = graph("y = Tanh(x)", inputs="float[3] x", outputs="float[3] y"), HostBackend("swift"), lib()
    operator = view.nodes[0].operator
    before = operator.get_available_backends()
    host.register("Tanh", FLOAT)(numpy.tanh)
    library.register("Tanh", FLOAT)(compat.ExportNode)
    compat.register_TanhOp("own_backend", compat.OperatorImpl)
    assert before[0] == "cpu" and {"letter", "own_backend", "swift"} <= set(operator.get_available_backends())
    assert set(compat.OperatorHandle(seen(view)).get_available_backends()) == set(operator.get_available_backends())
    assert "own_backend" not in PADDED.nodes[0].operator.get_available_backends()


def test_a_format_that_a_spec_names_is_kept(monkeypatch):
    library = lib()
    library.register("Pad2D", ImplSpec(IOSpec(dtype.float32, dformat.nhwc)))(compat.ExportNode)
    assert library.registry[0].spec.inputs[0].format == dformat.nhwc


NONE = {"config_template": "", "forward_template": "", "include_list": [], "kernels_to_copy": []}


def template_class(said: dict) -> type[compat.ExportNodeCpp]:
    return type(compat.ExportNodeCpp)("Letters", (compat.ExportNodeCpp,), {"__module__": __name__, **said})


@pytest.mark.parametrize("undefined", ["config_template", "forward_template", "kernels_to_copy"])
def test_a_foreign_class_that_leaves_a_template_undefined_is_an_error_and_not_passed_over(undefined):
    library, behind = lib(), lib()
    library.tried = True
    library.register("Tanh", FLOAT)(template_class({name: value for name, value in NONE.items() if name != undefined}))
    behind.register(["Pad", "Tanh"], FLOAT)(template_class(NONE | {"handles": ("pads",)}))
    with pytest.raises(AidgeError, match=f"Letters does not define {undefined}"):
        compat.adapt_to_backend(PADDED, [library, behind])


@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_class_with_an_export_and_a_forward_of_its_own_defines_no_templates(is_foreign):
    library = lib()
    library.tried = is_foreign
    own = {"export": lambda self, folder: ["<math.h>"], "forward": lambda self: ["own();"], "handles": ("pads",)}
    library.register(["Pad", "Tanh"], FLOAT)(template_class(own))
    choice = compat.adapt_to_backend(PADDED, [library]).choices[PADDED.nodes[1].name]
    (text,) = choice.kernel.node_class(seen(PADDED, 1), None).call().texts
    assert text.startswith("#include <math.h>\n") and "    own();" in text


@pytest.mark.parametrize("undefined", ["config_template", "include_list", "kernels_to_copy"])
def test_an_export_of_its_own_that_calls_the_base_s_needs_what_that_needs(undefined):
    said = {name: value for name, value in NONE.items() if name != undefined}
    made = template_class(said | {"export": lambda self, folder: compat.ExportNodeCpp.export(self, folder)})
    with pytest.raises(AidgeError, match=f"Letters does not define {undefined}"):
        made(seen(PADDED, 1), None).call()
