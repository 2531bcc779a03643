# SPDX-License-Identifier: MIT
"""Front ends in programs: the values of the Python function on this machine and on emulated cores, frame by frame, too."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build import frontend, net
from aidge_build.prepare.quantization import Scheme, quantize
from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler, needs_qemu

STRESS = "AIDGE_STRESS" in os.environ
FRAMES, VECTORS = (50, 20) if STRESS else (10, 5)
FRONT = frontend.LogMel(window=480, hop=160, bands=40)


def pcm(vectors: int, samples: int) -> numpy.ndarray:
    """Sounds of every loudness, int16 [vectors, 1, samples]."""
    random = numpy.random.Generator(numpy.random.PCG64(11))
    time = numpy.arange(samples)
    loud = 10 ** random.uniform(0, 4.3, (vectors, 1, 1))
    tones = numpy.sin(time * random.uniform(0.02, 2, (vectors, 1, 1)) * (1 + time / samples))
    return numpy.clip(numpy.rint(loud * (tones + random.normal(size=(vectors, 1, samples)) / 8)), -32768, 32767).astype(
        numpy.int16
    )


def verified(folder: Path, file: bytes, x: numpy.ndarray, *words: str, wanted: numpy.ndarray | None = None) -> str:
    """What `verify` prints of a model that is right."""
    (folder / "net.onnx").write_bytes(file)
    numpy.savez(folder / "io.npz", x=x, **({} if wanted is None else {"y": wanted}))
    result = aidge_build("verify", folder / "net.onnx", "--io-data", folder / "io.npz", *words)
    assert result.exit_code == 0, result
    return result.stdout


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board", ["host", "mps2-an386"])
@pytest.mark.parametrize("kind", ["integers", "float"])
def test_a_firmware_has_the_features_of_the_python_function(kind, board, tmp_path):
    front = FRONT.fixed(0.09, 28) if kind == "integers" else FRONT
    sounds = pcm(VECTORS, FRONT.samples(FRAMES))
    wanted = front.features(sounds)
    where = () if board == "host" else ("--board", board)
    verified(tmp_path, frontend.audio_model(front, sounds.shape[-1]), sounds, *where, "--reference", "y", wanted=wanted)


def quantized_classifier(frames: int, width: int) -> bytes:
    """Features as `FRONT` gives them to three scores, int8."""
    random = numpy.random.Generator(numpy.random.PCG64(3))
    graph = net.Graph("classifier")
    x = graph.input("features", (1, 1, frames, width))
    taps = graph.parameter("taps", random.normal(size=(4, 1, 3, 3)).astype(numpy.float32) / 9)
    hidden = net.Flatten(net.Relu(net.Conv(x, taps, strides=[2, 2])))
    weights = graph.parameter("weights", random.normal(size=(hidden.dims[1], 3)).astype(numpy.float32) / 20)
    graph.output(net.Gemm(hidden, weights), "scores")
    features = FRONT.features(pcm(12, FRONT.samples(frames))[:, 0])[:, None, None]
    return quantize(graph.onnx(), {"features": features}, Scheme())


@needs_cross_compiler
@needs_qemu
def test_a_key_word_model_takes_samples_hop_by_hop_and_remembers_the_others(tmp_path):
    classifier = quantized_classifier(9, FRONT.bands)
    fixed = frontend.fixed_for(classifier, FRONT)
    file = frontend.with_audio(classifier, fixed, hops=3)
    sound = pcm(1, 480 * 12).reshape(12, 1, 480)
    printed = verified(tmp_path, file, sound, "--board", "mps2-an386", "--layers", "--keep", str(tmp_path / "kept"))
    assert "LogMel" in printed and "RealFourier" not in printed
    header = (tmp_path / "kept" / "model.h").read_text()
    assert "int model_run(const int16_t *" in header and "model_reset(void)" in header
    text = (tmp_path / "kept" / "model.c").read_text()
    assert "double" not in text and "logf" not in text  # of float there is what hands the scores out


def test_windows_filters_and_logarithms_of_onnx_are_constants_and_kernels(tmp_path):
    text = """window = HannWindow(n) s = STFT(x, step, window) p = Mul(s, s) power = ReduceSum<keepdims = 0>(p, last)
    mel = MelWeightMatrix(bands, n, rate, low, high) m = MatMul(power, mel) f = Add(m, floor) l = Log(f) y = MatMul(l, dct)"""
    constants = {"n": 200, "step": 80, "last": [3], "bands": 12, "rate": 8000, "low": 100.0, "high": 3800.0, "floor": 1e-3}
    arrays = {name: numpy.array(value, numpy.float32 if isinstance(value, float) else None) for name, value in constants.items()}
    arrays["dct"] = frontend.cosines(12, 5).astype(numpy.float32)
    file = model(text, inputs="float[1,600] x", outputs="float[1,6,5] y", constants=arrays, opset=17)
    sounds = pcm(3, 600).astype(numpy.float32) / 32768
    verified(tmp_path, file, sounds, "--keep", str(tmp_path / "kept"))
    code = (tmp_path / "kept" / "model.c").read_text()
    assert "aidge_ref_real_fourier_200_windowed_float32" in code and "cosf" not in code


@needs_cross_compiler
@needs_qemu
def test_a_model_takes_the_bytes_of_a_camera(tmp_path):
    random = numpy.random.Generator(numpy.random.PCG64(4))
    images = random.integers(0, 256, (6, 20, 24, 3)).astype(numpy.uint8)
    camera = frontend.Pixels(20, 24, crop=(2, 4, 16, 18), size=(8, 9), gray=True, mean=(0.5,), deviation=(0.25,))
    graph = net.Graph("classifier")
    x = graph.input("x", (1, 1, 8, 9))
    weights = graph.parameter("weights", random.normal(size=(72, 3)).astype(numpy.float32))
    graph.output(net.Gemm(net.Flatten(x), weights), "scores")
    quantized = quantize(graph.onnx(), {"x": camera.features(images)[:, None]}, Scheme())
    printed = verified(tmp_path, frontend.with_image(quantized, camera), images[:, None], "--board", "mps2-an386", "--layers")
    assert "float32" not in printed


@needs_cross_compiler
def test_integers_need_no_function_of_any_library_on_any_core(tmp_path):
    (tmp_path / "net.onnx").write_bytes(frontend.audio_model(FRONT.fixed(0.09, 28), 480))
    for core in ("cortex-m0plus", "cortex-m4"):
        done = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", core)
        assert done.exit_code == 0, done
        for level in ("-O0", "-Os", "-O3"):
            command = ["arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", "-std=c99", level, "-c", tmp_path / "net.c"]
            subprocess.run([*command, "-o", tmp_path / "net.o"], check=True)
            listed = subprocess.run(["arm-none-eabi-nm", "-u", tmp_path / "net.o"], check=True, capture_output=True, text=True)
            wanted = {word for word in listed.stdout.split() if word != "U" and not word.startswith("net_audio_logmel")}
            assert wanted <= {"memcpy", "memset"}, (core, level)
