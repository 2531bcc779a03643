# SPDX-License-Identifier: MIT
"""The verb `ops`: operators with backends and types, and a manual page that nobody has to write."""

from __future__ import annotations

import re
from pathlib import Path

from aidge_build.operators import builtin_operators
from tests.command import aidge_build

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOY = '''# SPDX-License-Identifier: MIT
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.register import attribute, operator


@operator("toy.domain::Scaled")
class Scaled(ElementWise):
    """y = gain * x."""

    gain: float = attribute(2.0, accepts=lambda gain: gain > 0)

    def forward(self, data):
        return self.gain * data

    def derivative(self, data, result):
        return self.gain
'''


def test_the_table_has_every_operator_with_backends_types_and_whether_it_is_trained_through():
    rows = {row["onnx"]: row for row in aidge_build("ops", "--json").json["operators"]}
    assert rows.keys() == builtin_operators().keys()
    assert rows["Conv"]["type"] == "Conv" and rows["Conv"]["backward"] and not rows["ArgMax"]["backward"]
    assert rows["Conv"]["dtypes"]["cpu"] == ["float16", "float32", "float64"]
    assert set(rows["Conv"]["dtypes"]["ref"]) >= {"float32", "int8"}
    assert all(row["backends"][0] == "cpu" and row["summary"] for row in rows.values())
    assert re.search(r"^Relu +ReLU +backward +cpu f16 f32 f64 .*; .*ref f32", aidge_build("ops").stdout, re.M)


def test_a_page_says_formula_inputs_attributes_types_shapes_and_refusals():
    page = aidge_build("ops", "Gemm").stdout
    for part in ("Y = alpha * A' B' + beta * C", "Gemm(A, B, C=None, *, alpha=1.0, beta=1.0, transA=0, transB=0",
                 "- C (optional)", "- transA: int, default 0", "[3, 4], [4, 2] -> [3, 2]", "the inner dims differ: ... and ...",
                 "checked against numeric gradients", "Source: `aidge_build/operators/matmul.py`"):
        assert part in page, part
    assert aidge_build("ops", "ReLU").stdout == aidge_build("ops", "Relu").stdout
    refused = aidge_build("ops", "Cnov")
    assert refused.exit_code == 2 and "no operator is called 'Cnov'. Hint: did you mean" in refused.stderr


def test_an_operator_of_a_library_gets_its_page_for_free(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "library.toml").write_text('name = "toy"\n')
    (tmp_path / "toy" / "scaled.py").write_text(TOY)
    page = aidge_build("ops", "Scaled", "--kernel-path", tmp_path).stdout
    assert "## toy.domain::Scaled" in page and "Scaled(data, *, gain=2.0" in page and "on 3 samples" in page


def test_an_operator_of_a_library_is_tested_for_free(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "library.toml").write_text('name = "toy"\n')
    (tmp_path / "toy" / "scaled.py").write_text(TOY)
    right = aidge_build("ops", "Scaled", "--check", "--kernel-path", tmp_path)
    assert (right.exit_code, right.stdout) == (0, "1 operators, 3 samples, 1 with gradients: 0 findings\n")
    (tmp_path / "toy" / "scaled.py").write_text(TOY.replace("        return self.gain\n", "        return -self.gain\n"))
    wrong = aidge_build("ops", "Scaled", "--check", "--kernel-path", tmp_path)
    assert wrong.exit_code == 1 and re.search(r"the gradient of input 0 is -\S+ at element \d+, numerically", wrong.stdout)


def test_the_page_in_docs_names_only_operators_that_exist():
    page = (DOCS / "operators.md").read_text()
    named = set(re.findall(r"^## (\S+)$", page, re.M))
    assert named and named <= builtin_operators().keys()
    assert page.splitlines()[1] in aidge_build("ops", "--markdown").stdout
