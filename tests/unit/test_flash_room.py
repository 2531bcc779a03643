# SPDX-License-Identifier: MIT
"""Weights that no flash of the board can hold are refused before any C is written."""

from __future__ import annotations

import dataclasses

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Region
from aidge_build.build.emit.flash import require_flash
from aidge_build.graph.dtype import DType
from tests.command import aidge_build
from tests.emitted import chain, changed, float_sum
from tests.programs import ROOT

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
WEIGHTS_BYTES = 8116  # of the digits example on a Cortex-M7


def flash(*sizes: int) -> tuple[Region, ...]:
    return tuple(Region(f"F{index}", index << 24, size, "flash", ()) for index, size in enumerate(sizes))


def refusal(program) -> AidgeError:
    with pytest.raises(AidgeError) as caught:
        require_flash(program)
    assert caught.value.code == "PLAN04"
    return caught.value


@pytest.mark.parametrize("sizes", [(), (30,), (24, 6), (6, 24)], ids=str)
def test_weights_that_fit_to_the_byte_are_taken(sizes):
    """The chain has one array of 6 bytes and one of 24."""
    require_flash(chain(regions=flash(*sizes)))


@pytest.mark.requirement("PLAN04")
def test_a_byte_less_is_refused_with_the_largest_arrays_first():
    error = refusal(chain(regions=flash(29)))
    assert error.what == (
        "the weights need 30 B, board cortex-m4 has 29 B (F0) of flash for them and all code; "
        "largest: 'first: bias' 24 B, 'first: weights' 6 B"
    )
    assert error.hint == "`--optimize size`, with kernels that add less, a board with more flash, or a smaller model"


def test_who_asked_for_the_least_flash_is_not_told_to():
    program = chain(regions=flash(29))
    program = dataclasses.replace(program, options=dataclasses.replace(program.options, optimize="size"))
    assert refusal(program).hint == "a board with more flash, or a smaller model"


@pytest.mark.requirement("PLAN04")
def test_an_array_is_not_cut_in_two():
    error = refusal(chain(regions=flash(23, 23)))
    assert error.what.startswith("an array of the weights needs 24 B in one piece, board cortex-m4 has 23 B (F0) and 23 B (F1)")


def test_of_a_float_model_the_hint_is_int8():
    assert refusal(changed(float_sum(), regions=flash(8))).hint.startswith(
        "int8 instead of float32 needs a quarter; else `--optimize size`"
    )


def test_floats_that_are_no_constants_need_no_flash_and_are_no_reason_to_quantize():
    program = chain(regions=flash(29))
    tensor = next(tensor for tensor in program.view.tensors.values() if not tensor.is_constant)
    tensors = {**program.view.tensors, "port": tensor.with_(name="port", dtype=DType.float32, quantization=None)}
    program = dataclasses.replace(program, view=dataclasses.replace(program.view, tensors=tensors))
    assert "int8" not in refusal(program).hint


@pytest.mark.parametrize("room, exit_code", [(WEIGHTS_BYTES - 1, 2), (WEIGHTS_BYTES, 0)])
def test_the_board_decides_and_nothing_is_written_that_does_not_fit(tmp_path, room, exit_code):
    (tmp_path / "small.toml").write_text(
        f'extends = "stm32f7"\n[regions.FLASH]\norigin = 0x08000000\nkind = "flash"\nlength = {room}\n'
    )
    for verb, more in (("compile", ["--out", tmp_path / "out"]), ("plan", [])):
        result = aidge_build(verb, DIGITS, "--board", "small", "--board-path", tmp_path, *more)
        assert result.exit_code == exit_code
        assert (f"{DIGITS}: the weights need 8,116 B, board small has 8,115 B (FLASH)" in result.stderr) == (exit_code == 2)
    assert (tmp_path / "out").exists() == (exit_code == 0)


def test_without_a_board_no_flash_is_known(tmp_path):
    for target in (["--cpu", "cortex-m7", "--fpu", "fpv5-sp-d16"], ["--board", "host"]):
        assert aidge_build("compile", DIGITS, *target, "--out", tmp_path).exit_code == 0
