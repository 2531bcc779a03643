# SPDX-License-Identifier: MIT
"""What quantized operators and networks mean, beside what onnxruntime gave when it was measured (onnxruntime.json).

In the suite the first inputs of each kind for each network; AIDGE_STRESS=1 takes all.
"""

from __future__ import annotations

import json
import os
from functools import cache

import numpy
import pytest

from tests.exactness import network_cases
from tests.exactness.operator_cases import CASES
from tests.exactness.record import FILE, Differences, digest
from tests.exactness.tables import PAGE, updated
from tests.shared import MODELS

INPUTS = network_cases.COUNT if os.environ.get("AIDGE_STRESS") else 2


@cache
def record() -> dict:
    return json.loads(FILE.read_text())


@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_onnxruntimes_values_but_for_those_written_down(name):
    case, stored = CASES[name], record()["operators"][name]
    ours = numpy.concatenate([case.ours(name, quantizations) for quantizations in case.quantizations(name)])
    differences = Differences(stored["differences"])
    assert (ours.size, differences.count) == (stored["values"], stored["off"])
    assert digest(differences.applied(ours)) == stored["digest"]


@pytest.mark.parametrize("kind", network_cases.KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_a_network_gives_onnxruntimes_values_but_for_those_written_down(model, kind):
    run, stored = network_cases.run_of(model), record()["networks"][model][kind]
    assert sum(Differences(text).count for _, text in stored["vectors"]) == stored["off"]
    for x, (wanted, differences) in list(zip(network_cases.inputs(model, kind), stored["vectors"], strict=True))[:INPUTS]:
        assert digest(Differences(differences).applied(run(x))) == wanted


def test_the_page_on_arithmetic_shows_the_figures_that_were_measured():
    page = PAGE.read_text()
    assert updated(page, record()) == page


def test_the_readme_says_how_many_values_of_networks_differ():
    found = [kind for kinds in record()["networks"].values() for kind in kinds.values()]
    differ, values = (sum(one[key] for one in found) for key in ("off", "values"))
    said = f"{differ} of {values:,} output values [differ from onnxruntime's]"
    assert said in (PAGE.parents[1] / "README.md").read_text().replace("\n", " ")


def test_differences_turn_our_values_into_the_others():
    ours, theirs = numpy.array([3, -4, 5, 127, 0], numpy.int8), numpy.array([3, -5, 5, -128, 1], numpy.int8)
    assert Differences.between(ours, theirs).text == "1:-1 2:-255 1:+1"
    assert Differences.between(ours, theirs).applied(ours).tolist() == theirs.tolist()
    assert Differences.between(ours, ours).applied(ours).tolist() == ours.tolist()
