# SPDX-License-Identifier: MIT
"""A library may replace a built-in operator; every build says so."""

from __future__ import annotations

import pytest

from tests.command import aidge_build
from tests.small_model import small_model

OPERATOR = """
from aidge_build.operators import activation
from aidge_build.operators.register import operator


@operator("{name}")
class ReLU(activation.ReLU):
    "y = max(x, 0)."
"""


@pytest.mark.parametrize("name, is_said", [("Relu", True), ("my.domain::Relu", False)])
def test_a_library_that_replaces_a_built_in_operator_is_named(tmp_path, name, is_said):
    folder = tmp_path / "kernels" / "mine"
    folder.mkdir(parents=True)
    (folder / "library.toml").write_text('name = "mine"\n')
    (folder / "operators.py").write_text(OPERATOR.format(name=name))
    (tmp_path / "small.onnx").write_bytes(small_model())
    words = ("--kernel-path", tmp_path / "kernels", "--lib", "mine,ref")
    for verb in ("explain", "compile"):
        said = aidge_build(verb, tmp_path / "small.onnx", *words, *(("--out", tmp_path / "out") if verb == "compile" else ()))
        assert ("library mine replaces the built-in Relu" in said.stdout + said.stderr) == is_said, said
