# SPDX-License-Identifier: MIT
"""Every registered operator against the test cases of the ONNX project. There are no silent skips."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy
import onnx
from node_cases import check, check_case, stored_cases, supported_cases

from aidge_build.base.errors import AidgeError
from aidge_build.operators import builtin_operators

# Cases that we refuse: a pattern of the whole name, and a part of the message that says why.
REFUSED = (
    (r"test_cast(like)?_.*(FLOAT[468]E|BFLOAT16|U?INT[24](_|$)).*", r"the element type \w+ is not supported"),
    (r"test_cast_e8m0_.*", "FLOAT8E8M0"),
    (r"test_(de)?quantizelinear_(e4m3fn|e5m2|u?int[24]|float4e2m1).*", r"the element type \w+ is not supported"),
    (r"test_.*(bfloat16|bf16).*", "the element type BFLOAT16 is not supported"),
    (r"test_equal_string.*", "two texts that are both known at run time"),
    (r"test_identity_(sequence|opt)", "only tensors (and maps of numbers )?are supported"),
    (r"test_center_crop_pad.*_expanded|test_(blackman|hamming|hann)window_.*expanded", "must be constant"),
)


# Many float16 steps one after another: we round each once, the expectation rounds inside of them, too. They are one unit in the
# last place apart.
COARSER = {"test_attention_4d_causal_fp16_expanded": 1.3e-3}


def _refusal(name: str, table: Iterable[tuple[str, str]]) -> str | None:
    return next((reason for pattern, reason in table if re.fullmatch(pattern, name)), None)


def _verdict(table: Iterable[tuple[str, str]], name: str, run_case: Callable[[], object]) -> str:
    """Returns why the case fails; nothing if it passes, or if the table says that it is refused and why."""
    reason = _refusal(name, table)
    try:
        run_case()
    except AidgeError as error:
        return "" if reason and re.search(reason, str(error)) else f"{error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it is not refused" if reason else ""


# The cases are made where they run: to make them for the names of tests takes each process of the tests ten seconds.


def test_every_node_case_gives_the_expected_values():
    found = {
        name: _verdict(REFUSED, name, lambda name=name, case=case: check_case(case, COARSER.get(name, case.rtol)))
        for name, case in supported_cases().items()
    }
    assert {name: failure for name, failure in found.items() if failure} == {} and len(found) > 1400


def test_every_stored_pytorch_model_gives_the_expected_values():
    found = {name: _verdict((), name, lambda case=case: _check_stored(case)) for name, case in stored_cases().items()}
    assert {name: failure for name, failure in found.items() if failure} == {} and len(found) > 100


def _check_stored(case) -> None:
    model = onnx.load(f"{case.model_dir}/model.onnx")
    inputs, outputs = (
        _data(case.model_dir, kind, count)
        for kind, count in (("input", len(model.graph.input) - len(model.graph.initializer)), ("output", len(model.graph.output)))
    )
    check(case.name, model, inputs, outputs, case.rtol, case.atol)


def _data(folder: str, kind: str, count: int) -> list[numpy.ndarray]:
    return [onnx.numpy_helper.to_array(onnx.load_tensor(f"{folder}/test_data_set_0/{kind}_{index}.pb")) for index in range(count)]


def test_every_registered_operator_has_a_node_case():
    covered = {node.op_type for case in supported_cases().values() for node in case.model.graph.node}
    # Those of other domains have tests of their own: test_qlinear.py and the models in the wild.
    assert sorted(name for name in builtin_operators().keys() - covered if "::" not in name) == []
