# SPDX-License-Identifier: MIT
"""What the recipes make of small graphs: those that they rewrite, those that they leave, and the names and numbers behind them.

Each case computes the same before and after; the text is there so that a change of any rewrite is seen in a review.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.channel_reach import channel_reach
from aidge_build.prepare.recipes.remove_constant_channels import remove_constant_channels
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.golden.recipe_cases import CASES
from tests.golden.recipe_spellings import SPELLINGS
from tests.models import same_meaning
from tests.unit.test_constant_channels import random_network


def imported(nodes: str, inputs: str, outputs: str, constants: dict[str, numpy.ndarray]) -> GraphView:
    made = onnx.parser.parse_graph(f"case ({inputs}) => ({outputs}) {{ {nodes} }}")
    used = {name for node in made.node for name in node.input}
    made.initializer.extend(numpy_helper.from_array(numpy.asarray(constants[name]), name) for name in constants if name in used)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(made, opset_imports=domains, ir_version=8)
    return import_onnx(model.SerializeToString(), "case.onnx", builtin_operators(), {}, {})[0]


def described(view: GraphView) -> Iterator[str]:
    """The graph, the names of its nodes with what they came from, and its constants."""
    yield str(view)
    for node in view.nodes:
        yield f"    {node.name} of {', '.join(node.origin)}"
    for name, tensor in sorted(view.tensors.items()):
        if tensor.is_constant:
            yield f"    {name}: {constant_text(tensor)}"
        elif tensor.kept:
            yield f"    {name} keeps {tensor.kept.channels} of {tensor.kept.count}"


def constant_text(tensor: Tensor) -> str:
    values = " ".join(f"{value:.6g}" for value in tensor.data.ravel()[:8].tolist())
    more = f" ... sum {float(tensor.data.sum(dtype=numpy.float64)):.6g}" if tensor.elements > 8 else ""
    return f"{tensor.dtype.name}{list(tensor.dims)} {values}{more} {tensor.quantization or ''}".rstrip()


@pytest.mark.parametrize("folder,cases", [("recipes", CASES), ("recipes_spellings", SPELLINGS)])
def test_small_graphs_become_what_they_became(folder, cases, golden):
    lines = []
    for name, case in cases.items():
        before = imported(*case)
        after = simplify(before)
        assert same_meaning(before, after, relative=1e-5), name
        lines += [f"== {name.replace(' ', '_')}.txt", case[0], *described(after), ""]
    golden(folder, {"graphs.txt": "\n".join(lines).encode()})


def test_channels_that_always_have_one_value_go_as_they_went(golden):
    lines = []
    for seed in range(10):
        view = random_network(seed)
        lines += [f"== {seed}", *described(remove_constant_channels(view))]
        for name, reach in channel_reach(view).items():
            lines.append(f"    {name} lies in {reach.low.tolist()} to {reach.high.tolist()}")
    golden("recipes_channels", {"networks.txt": ("\n".join(lines) + "\n").encode()})
