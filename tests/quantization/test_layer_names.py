# SPDX-License-Identifier: MIT
"""The names that tables print for layers are names that options take."""

from __future__ import annotations

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import NAME_TO_LOOK_AT
from aidge_build.build.imported import import_model
from aidge_build.build.layer_names import nodes_called, printed_names, with_own_names
from aidge_build.build.request import CompileRequest
from aidge_build.operators import builtin_operators
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.quantization import Scheme
from tests.models import model
from tests.quantization.networks import samples, small_cnn

LONG = "functional_1/a_block_with_a_long_name/"


def asked(file: bytes, kept: tuple[str, ...] = ()) -> CompileRequest:
    """The model with names that are too long for tables, but the `kept` ones."""
    network = onnx.load_from_string(file)
    given = {"", *kept, *(value.name for value in (*network.graph.input, *network.graph.output, *network.graph.initializer))}
    for node in network.graph.node:
        node.name = node.output[0] if node.output[0] in kept else LONG + node.output[0]
        for names in (node.input, node.output):
            names[:] = [name if name in given else LONG + name for name in names]
    return CompileRequest(NAME_TO_LOOK_AT, network.SerializeToString(), "net.onnx", (), builtin_operators(), Target(), "any")


def typed(request: CompileRequest, **layers: str) -> dict[str, str]:
    """The layers of the scheme by their own names, without the long beginning."""
    scheme = with_own_names(Scheme(layers=layers), request, samples(4))
    return {name.removeprefix(LONG): kind for name, kind in scheme.layers.items()}


def test_each_name_that_a_table_prints_means_the_layer_of_its_row():
    view = import_model(asked(small_cnn()))[0]
    names = printed_names(view)
    assert names[:3] == ["conv2d_1", "maxpooling2d_1", "convdepthwise2d_1"] and len(set(names)) == len(names)
    assert [nodes_called(name, view) for name in names] == [(node,) for node in view.nodes]
    assert nodes_called(f"{LONG}n0", view) == nodes_called("conv2d_1", view), "a node of the file inside of the layer"
    assert nodes_called("conv2d_3", view) == ()


def test_the_type_of_a_layer_is_set_by_its_own_name_and_by_the_printed_one():
    request = asked(small_cnn())
    assert typed(request, conv2d_2="float32", fc_1="int16", **{f"{LONG}c1": "int16"}) == {
        "c1": "int16",
        "c2": "float32",
        "g3": "int16",
    }
    assert typed(asked(small_cnn(), ("c2",)), c2="float32") == {"c2": "float32"}


def test_a_wrong_name_is_refused_with_the_names_of_the_layers():
    with pytest.raises(AidgeError) as refused:
        typed(asked(small_cnn()), conv2d_3="float32")
    said = "--layer-types: there is no layer 'conv2d_3'. Hint: did you mean 'conv2d_2'? Layers: conv2d_1, maxpooling2d_1, "
    assert str(refused.value).startswith(said) and str(refused.value).count("conv2d_1") == 1


def test_a_name_that_the_float_model_and_the_int8_model_print_for_different_layers_is_refused():
    nodes = "a = Conv (x, w) b = Conv (x, w) s = Mul (a, a) y = Mul (s, b)"
    constants = {"w": numpy.random.default_rng(1).normal(size=(4, 3, 1, 1)).astype(numpy.float32)}
    request = asked(model(nodes, inputs="float[1,3,8,8] x", outputs="float[1,4,8,8] y", constants=constants))
    with pytest.raises(AidgeError, match=f"layer 'mul_1' is '{LONG}s' in the float model, and '{LONG}y' in the int8"):
        typed(request, mul_1="float32")
    assert typed(request, table_1="float32") == {"s": "float32"}


def test_a_long_name_is_printed_in_full_where_another_layer_has_the_short_one():
    nodes = "a = Conv (x, w) conv2d_1 = Conv (a, v) y = Relu (conv2d_1)"
    constants = {"w": numpy.ones((4, 3, 1, 1), numpy.float32), "v": numpy.ones((4, 4, 1, 1), numpy.float32)}
    file = model(nodes, inputs="float[1,3,8,8] x", outputs="float[1,4,8,8] y", constants=constants)
    view = import_model(asked(file, ("conv2d_1",)))[0]
    names = printed_names(view)
    assert names == [f"{LONG}a", "conv2d_1"] and nodes_called("conv2d_1", view) == (view.nodes[1],)
