# SPDX-License-Identifier: MIT
"""The verb `ops`: operators with backends and types, and a manual page that nobody has to write."""

from __future__ import annotations

import re
from pathlib import Path

from aidge_build.operators import builtin_operators
from tests.command import aidge_build

DOCS = Path(__file__).resolve().parents[2] / "docs"


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
    for part in (
        "Y = alpha * A' B' + beta * C",
        "Gemm(A, B, C=None, *, alpha=1.0, beta=1.0, transA=0, transB=0",
        "- C (optional)",
        "- transA: int, default 0",
        "[3, 4], [4, 2] -> [3, 2]",
        "the inner dims differ: ... and ...",
        "checked against numeric gradients",
        "Source: `aidge_build/operators/matmul.py`",
    ):
        assert part in page, part
    assert aidge_build("ops", "ReLU").stdout == aidge_build("ops", "Relu").stdout
    refused = aidge_build("ops", "Cnov")
    assert refused.exit_code == 2 and "no operator is called 'Cnov'. Hint: did you mean" in refused.stderr


def test_the_page_in_docs_is_what_the_command_prints_but_for_where_operators_run():
    """Kernels come every day; what operators mean does not change unseen."""

    def meaning(page: str) -> list[str]:
        return [line for line in page.splitlines() if not line.startswith("Runs on ")]

    assert meaning((DOCS / "operators.md").read_text()) == meaning(aidge_build("ops", "--markdown").stdout), (
        "type: .venv/bin/python -m tools.docs --pages"
    )
