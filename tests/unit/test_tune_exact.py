# SPDX-License-Identifier: MIT
"""What is measured is exact first: a kernel whose values are not numpy's has no figure."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.boards import load_board
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.measure.tune import work
from tests.compiled import request_of
from tests.small_model import small_model


@pytest.mark.parametrize("is_wrong", [False, pytest.param(True, marks=pytest.mark.requirement("TUNE"))])
def test_a_program_whose_values_differ_is_refused_with_the_names_of_its_kernels(monkeypatch, is_wrong):
    def execute(program, board, vectors, folder, *, estimates):
        outputs = {name: value.copy() for name, value in run_in_order(program.view, vectors, range(1)).items()}
        for value in outputs.values():
            value.flat[0] ^= is_wrong
        layers = [SimpleNamespace(instructions=0)] * len(program.layers)
        return SimpleNamespace(outputs=outputs, result=SimpleNamespace(run_instructions=1, layers=layers))

    monkeypatch.setattr(work, "execute", execute)
    request = request_of(small_model(), "small.onnx", load_board("mps2-an386"))
    if not is_wrong:
        assert list(work._measured(request, request.target)) == []
        return
    with pytest.raises(CheckFailed, match="1 value differs from numpy's; its kernels: cortexm "):
        list(work._measured(request, request.target))
