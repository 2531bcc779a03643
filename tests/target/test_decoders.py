# SPDX-License-Identifier: MIT
"""Decoders of exporters with their caches as states: the token is all that the firmware passes, and logits are onnxruntime's."""

from __future__ import annotations

import os

import numpy
import onnx
import pytest

from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.ring_caches import ring_caches
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.command import aidge_build
from tests.decoders import STYLES, WORDS, decoder, theirs, with_few_bits
from tests.programs import needs_cross_compiler, needs_qemu
from tests.sanitized import SANITIZED_FLAGS

STRESS = "AIDGE_STRESS" in os.environ
ROWS = 12
FORMS = [(style, few_bits) for style in STYLES for few_bits in (False, True)]


def bound(style: str) -> dict[str, int]:
    """The dims that a user binds: a window of ROWS rows reads one row less, a cache of a fixed length has all of them."""
    past = {"past_sequence_length": ROWS - 1}
    return {
        "sequence_length": 1,
        **({"past_sequence_length": ROWS, "total_sequence_length": ROWS} if style == "grouped" else past),
    }


def text(style: str, seed: int) -> numpy.ndarray:
    """Tokens: more than a window holds, as many as a cache of a fixed length holds."""
    return numpy.random.default_rng(seed).integers(0, WORDS, ROWS if style == "grouped" else ROWS + 8)


def logits(model: onnx.ModelProto, style: str, tokens: numpy.ndarray) -> numpy.ndarray:
    view, _ = import_onnx(model.SerializeToString(), "decoder", builtin_operators(), bound(style), {}, {"auto": ""})
    view = ring_caches(simplify(view))
    writers = {view.producer(state.written).type for state in view.states}
    assert view.given == ("input_ids",) and view.handed_out == ("logits",) and writers == {"Add", "TensorScatter"}
    return run_in_order(view, {"input_ids": tokens.reshape(-1, 1, 1)})["logits"].reshape(len(tokens), -1)


@pytest.mark.parametrize("style, few_bits", FORMS)
def test_logits_are_onnxruntimes_token_by_token(style, few_bits):
    pytest.importorskip("onnxruntime")
    for seed in range(20 if STRESS else 1):
        model = with_few_bits(decoder(style, seed)) if few_bits else decoder(style, seed)
        tokens = text(style, seed)
        wanted = theirs(model, tokens, ROWS - 1)
        found = logits(model, style, tokens)
        assert numpy.abs(found - wanted).max() < 1e-5 * numpy.abs(wanted).max()


def verified(folder, style: str, few_bits: bool, *words: str):
    model = decoder(style, layers=2 if STRESS else 1)
    onnx.save(with_few_bits(model) if few_bits else model, folder / "net.onnx")
    numpy.savez(folder / "io.npz", x=text(style, 1).reshape(-1, 1, 1))
    sizes = [f"--bind={name}={size}" for name, size in bound(style).items()]
    return aidge_build("verify", folder / "net.onnx", "--io-data", folder / "io.npz", "--state", "auto", *sizes, *words)


@pytest.mark.parametrize("style, few_bits", FORMS if STRESS else [("llama", True)])
def test_the_c_code_computes_the_same_logits(style, few_bits, tmp_path):
    result = verified(tmp_path, style, few_bits, *(SANITIZED_FLAGS if STRESS else ()))
    assert result.exit_code == 0, result


@needs_cross_compiler
@needs_qemu
@pytest.mark.skipif(not STRESS, reason="AIDGE_STRESS=1 runs decoders on boards")
@pytest.mark.parametrize("board", ["mps3-an547", "mps2-an500"])
@pytest.mark.parametrize("style, few_bits", FORMS)
def test_a_board_computes_the_same_logits(style, few_bits, board, tmp_path):
    result = verified(tmp_path, style, few_bits, "--board", board)
    assert result.exit_code == 0, result


@pytest.mark.skipif(not STRESS, reason="AIDGE_STRESS=1 quantizes decoders")
@pytest.mark.parametrize("style", STYLES)
def test_logits_of_dynamic_int8_are_within_a_hundredth(style, tmp_path):
    quantization = pytest.importorskip("onnxruntime.quantization")
    for seed in range(5):
        onnx.save(decoder(style, seed), tmp_path / "float.onnx")
        words = {"DefaultTensorType": onnx.TensorProto.FLOAT}  # of what follows operators of com.microsoft
        kinds = ["MatMul"]  # it would write an Attention of ONNX as one of com.microsoft
        quantization.quantize_dynamic(
            tmp_path / "float.onnx", tmp_path / "net.onnx", op_types_to_quantize=kinds, extra_options=words
        )
        model, tokens = onnx.load(tmp_path / "net.onnx"), text(style, seed)
        wanted = theirs(model, tokens, ROWS - 1)
        found, limit = logits(model, style, tokens), 0.01 * numpy.abs(wanted).max()
        assert numpy.abs(found - wanted).max() < limit
        clear = numpy.sort(wanted, -1)[:, -1] - numpy.sort(wanted, -1)[:, -2] > limit
        assert (found.argmax(-1) == wanted.argmax(-1))[clear].all()
