# SPDX-License-Identifier: MIT
"""The guide to the kit does what it says: its code runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import Mock

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.sources.formats.onnx.expansion import expansions
from tests.command import aidge_build
from tests.models import graph, types

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kit.md"
OPERATOR, _, WHOLE, EXPANSION, GRAPH, RECIPE, TRAINING, *_ = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


@pytest.fixture
def library(tmp_path) -> Path:
    """A user's folder with the operator of the page."""
    (tmp_path / "library.toml").write_text('name = "mine"\n')
    (tmp_path / "scaled.py").write_text(OPERATOR)
    return tmp_path


def test_the_operator_of_the_page_gets_its_row_its_manual_and_the_place_where_it_stands(library):
    table = aidge_build("ops", "--kernel-path", library).stdout
    assert re.search(r"^my.domain::Scaled +Scaled +backward +cpu any; .*ref i8.*\n +y = gain \* x\.$", table, re.M)
    page = aidge_build("ops", "Scaled", "--kernel-path", library).stdout
    assert "## my.domain::Scaled" in page and "Scaled(data, *, gain=2.0" in page and "on 3 samples" in page
    assert re.search(r"^Source: `/\S+/scaled.py`.$", page, re.M)


def test_the_operator_of_the_page_is_tested_for_free(library):
    right = aidge_build("ops", "Scaled", "--check", "--kernel-path", library)
    assert (right.exit_code, right.stdout) == (0, "1 operator, 3 samples, 1 with gradients: 0 findings\n")
    assert OPERATOR.count("        return self.gain\n") == 1
    (library / "scaled.py").write_text(OPERATOR.replace("        return self.gain\n", "        return -self.gain\n"))
    wrong = aidge_build("ops", "Scaled", "--check", "--kernel-path", library)
    assert wrong.exit_code == 1 and re.search(r"the gradient of input 0 is -\S+ at element \d+, numerically", wrong.stdout)


def test_the_operator_of_the_page_that_has_no_kind_is_tested_for_free_and_refuses_by_its_own_rule(library):
    (library / "moment.py").write_text(WHOLE)
    done = aidge_build("ops", "Moment", "--check", "--kernel-path", library)
    assert (done.exit_code, done.stdout) == (0, "1 operator, 2 samples, 0 with gradients: 0 findings\n")
    assert "input 0 has no axis" in aidge_build("ops", "Moment", "--kernel-path", library).stdout


def test_a_folder_that_is_no_library_is_refused_with_what_it_lacks(library):
    (library / "library.toml").unlink()
    refused = aidge_build("ops", "Scaled", "--check", "--kernel-path", library)
    assert refused.exit_code == 2
    assert "the kernel folder holds no library. Hint: a file library.toml with the line 'name = \"mine\"'" in refused.stderr


def test_the_expansion_of_the_page_is_the_one_that_is_registered():
    made: dict = {}
    exec(EXPANSION, made)
    draft = Mock(
        **{"one.side_effect": lambda *words, **_: f"{words[0]}({','.join(words[1:])})", "input.side_effect": "xb".__getitem__}
    )
    assert made["bias_gelu"](draft) == ("Gelu(Add(x,b))",) == expansions()["com.microsoft::BiasGelu"](draft)


def test_the_graph_and_the_training_of_the_page_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = numpy.random.default_rng(0)
    images, labels = random.random((1, 1, 8, 8)).repeat(20, axis=0), numpy.full(20, 3)
    names = {
        "weights": random.normal(size=(4, 1, 3, 3)),
        "more": random.normal(size=(256, 10)) / 16,
        "images": images,
        "labels": labels,
    }
    exec(GRAPH + TRAINING, names)
    assert (tmp_path / "digits.onnx").stat().st_size > 0
    context = names["execution"].forward(names["context"], {"x": images[:1], "labels": labels[:1]})
    assert context["loss"] < 0.1 and context["scores"].argmax() == 3


def test_the_recipe_of_the_page_runs_and_is_checked(monkeypatch):
    monkeypatch.setenv("AIDGE_DEBUG", "5")
    before = graph("a = Relu(x) b = Relu(a) y = Neg(b)", inputs="float[2,3] x", outputs="float[2,3] y")
    known = {"view": before}
    exec(RECIPE, known)
    assert types(known["view"]) == ["ReLU", "Neg"] and known["remove_second_relu"].exact
    wrong = {"view": graph("a = Neg(x) b = Relu(a) c = Relu(b) y = Neg(c)", inputs="float[2,3] x", outputs="float[2,3] y")}
    assert RECIPE.count("node.inputs[0])\n                rewrite.remove_node") == 1
    with pytest.raises(AidgeError, match="graph after remove_second_relu: graph output 'y' changed by"):
        exec(RECIPE.replace("redirect(node.outputs[0], node.inputs[0])", "redirect(node.outputs[0], before.inputs[0])"), wrong)
