# SPDX-License-Identifier: MIT
"""Selection by cost: a versioned table that the call names decides, and what it decided is recorded."""

from __future__ import annotations

import itertools
import json

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.library import load_library
from aidge_build.contract.spec import NodeView
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.cost import CostEntry, CostTable, read_cost_table
from aidge_build.prepare.adaptation.match import Target
from tests.command import aidge_build
from tests.models import graph, model

TABLE = b"""schema = 1
name = "bench"
version = "7"
unit = "instructions"
cost = [{library = "slow", kernel = "kernels", per_element = 5},
        {library = "fast", kernel = "kernels", fixed = 100, per_element = 1}]
"""
KERNEL = b"""
from aidge_build import ExportNode, ImplSpec, IOSpec, dtype, kernel
@kernel(["ReLU", "Tanh"], ImplSpec(IOSpec(dtype.float32)))
class K(ExportNode): pass
"""


def libraries(*names):
    return [load_library({"library.toml": f'name = "{name}"'.encode(), "kernels.py": KERNEL}, name) for name in names]


def chosen(size: int, *names: str):
    view = graph("y = Relu(x)", inputs=f"float[{size}] x", outputs=f"float[{size}] y")
    return adapt_to_backend(view, libraries(*names), Target(cost_table=read_cost_table(TABLE, "t.toml"))).choices["Relu_0"]


def test_the_cheapest_kernel_wins_whatever_the_order_of_libraries():
    for names in (("slow", "fast"), ("fast", "slow")):
        assert chosen(1000, *names).kernel.library == "fast" and chosen(10, *names).kernel.library == "slow"


def test_the_rule_and_what_the_others_cost_are_recorded():
    choice = chosen(1000, "slow", "fast", "other")
    assert choice.rule.startswith("cheapest by cost table bench version 7 (") and choice.rule.endswith("): 1,100 instructions")
    assert choice.rejected == (("slow kernels", "costs 5,000 instructions"), ("other kernels", "is not in the cost table"))


def test_without_an_entry_the_order_of_libraries_decides():
    assert chosen(10, "other", "another").kernel.library == "other"


@pytest.mark.parametrize(
    "data, message",
    [
        (b"schema = 2\nname='a'\nversion='1'\nunit='x'", "schema 2 is unknown"),
        (b"schema = 1", "has no 'name'"),
        (b"=", "Invalid"),
        (TABLE.replace(b"per_element = 5", b"per_elephant = 5"), "unknown key 'per_elephant'"),
        (TABLE.replace(b"= 100", b"= -1"), "fixed is -1"),
        (TABLE.replace(b"= 100", b"= inf"), "fixed is inf"),
        (TABLE.replace(b"= 100", b"= true"), "fixed is True"),
        (TABLE.replace(b'library = "slow", ', b""), "an entry has no library or no kernel"),
        (TABLE.replace(b'kernel = "kernels", p', b"p"), "an entry has no library or no kernel"),
        (TABLE.replace(b"slow", b"fast"), "two entries for fast kernels"),
    ],
)
def test_a_table_that_says_something_else_is_refused(data, message):
    with pytest.raises(AidgeError, match=message):
        read_cost_table(data, "t.toml")


def test_the_manifest_names_table_and_rule_and_the_depfile_the_file(tmp_path):
    for name in ("slow", "fast"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "library.toml").write_text(f'name = "{name}"')
        (tmp_path / name / "kernels.py").write_bytes(
            KERNEL.replace(
                b"class K(ExportNode): pass",
                b"""class K(ExportNode):
    def call(self):
        from aidge_build import Call, Input, Output
        return Call("relu", ("relu.h",), (Input(), Output()))
""",
            )
        )
        (tmp_path / name / "relu.h").write_text("static void relu(const float *in, float *out) { out[0] = in[0]; }\n")
    (tmp_path / "net.onnx").write_bytes(model("y = Relu(x)", inputs="float[1000] x", outputs="float[1000] y"))
    (tmp_path / "costs.toml").write_bytes(TABLE)
    arguments = [
        "compile",
        tmp_path / "net.onnx",
        "--out",
        tmp_path,
        "--kernel-path",
        tmp_path,
        "--lib",
        "slow,fast",
        "--depfile",
        tmp_path / "d",
    ]
    result = aidge_build(*arguments, "--select", "cost", "--cost-table", tmp_path / "costs.toml")
    assert result.exit_code == 0, result.stderr
    manifest = json.loads((tmp_path / "net.plan.json").read_text())
    assert manifest["layers"][0]["library"] == "fast" and manifest["options"]["cost_table"].startswith("bench version 7 (")
    assert "cheapest by cost table bench" in manifest["layers"][0]["rule"] and "costs.toml" in (tmp_path / "d").read_text()
    assert aidge_build(*arguments, "--select", "cost").exit_code == 2


WAITS = b"""schema = 1
name = "waits"
version = "1"
unit = "UNIT"
cost = [{library = "slow", kernel = "kernels", per_element = 2},
        {library = "fast", kernel = "kernels", per_element = 1, lines_per_element = 0.5}]
"""


@pytest.mark.parametrize(
    "unit, states, library", [("cycles", 0, "fast"), ("cycles", 1, "fast"), ("cycles", 5, "slow"), ("instructions", 5, "fast")]
)
def test_wait_states_of_the_flash_count_in_a_table_of_cycles(unit, states, library):
    """One cycle and half a line of constants per element, beside two cycles: even at two wait states."""
    table = read_cost_table(WAITS.replace(b"UNIT", unit.encode()), "t.toml")
    view = graph("y = Relu(x)", inputs="float[100] x", outputs="float[100] y")
    target = Target(cost_table=table, flash_wait_states=states)
    assert adapt_to_backend(view, libraries("slow", "fast"), target).choices["Relu_0"].kernel.library == library


def test_the_entry_for_the_class_of_shapes_goes_before_the_one_for_the_operator_and_that_before_the_one_for_all():
    (library,) = libraries("fast")
    (kernel,) = library.kernels_for("ReLU")
    view = graph("y = Relu(x)", inputs="float[5] x", outputs="float[5] y")
    seen = NodeView.of(view, view.nodes[0])
    preferred = [("ReLU", "outputs 4"), ("", "outputs 4"), ("ReLU", ""), ("", "")]
    others = [("Tanh", "outputs 4"), ("Tanh", ""), ("ReLU", "outputs 8"), ("", "outputs 8")]
    entries = {pair: CostEntry("fast", "kernels", *pair, number, 9, 3, 9, 100) for number, pair in enumerate(preferred + others)}
    for chosen in itertools.product((False, True), repeat=4):
        known = [pair for pair, is_there in zip(preferred, chosen, strict=True) if is_there]
        listed = tuple(entries[pair] for pair in (*known[::-1], *others))
        costs = [CostTable("t", "1", unit, listed, "").cost(kernel, seen, 2) for unit in ("instructions", "cycles")]
        fixed = entries[known[0]].fixed if known else 0
        assert costs == ([fixed + 5 * 3, fixed + 5 * (3 + 2 * 100)] if known else [None, None])
