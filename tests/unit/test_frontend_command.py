# SPDX-License-Identifier: MIT
"""The verb `frontend`: what a recipe says stands around the model, or is refused by name."""

from __future__ import annotations

import json

import numpy
import pytest

from aidge_build import frontend, net
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.sources.onnx_format import read_model
from tests.command import aidge_build


def classifier(dims: tuple[int, ...], quantized: bool) -> bytes:
    graph = net.Graph("classifier")
    x = graph.input("x", dims)
    random = numpy.random.Generator(numpy.random.PCG64(2))
    weights = random.normal(size=(int(numpy.prod(dims)), 3)).astype(numpy.float32)
    graph.output(net.Gemm(net.Flatten(x), graph.parameter("w", weights)), "scores")
    samples = random.uniform(-8, 3, (5, *dims)).astype(numpy.float32)
    return quantize(graph.onnx(), {"x": samples}, Scheme()) if quantized else graph.onnx()


def made(folder, model: bytes, recipe: str):
    (folder / "m.onnx").write_bytes(model)
    (folder / "front.toml").write_text(recipe)
    return aidge_build("frontend", folder / "m.onnx", "--recipe", folder / "front.toml", "--out", folder / "out.onnx", "--json")


AUDIO = "[audio]\nwindow = 100\nhop = 40\nbands = 8\nlowest = 100.0\n"


def test_a_recipe_gives_the_file_of_the_functions(tmp_path):
    model = classifier((1, 5, 8), True)
    done = made(tmp_path, model, f"{AUDIO}hops = 2\n[decision]\naverage = 3\nscores = true\n")
    assert done.exit_code == 0, done
    front = frontend.LogMel(window=100, hop=40, bands=8, lowest=100.0)
    before = frontend.with_audio(model, frontend.fixed_for(model, front), hops=2)
    wanted = frontend.with_decision(before, average=3, scores=True)
    assert (tmp_path / "out.onnx").read_bytes() == wanted
    said = json.loads(done.stdout)
    assert said["inputs"] == {"audio_pcm": "int16 [1, 80]"} and len(said["states"]) == 3
    assert said["outputs"] == {"decision_scores": "int8 [1, 3]", "decision_label": "int64 [1]"}


def test_images_and_networks_in_float(tmp_path):
    model = classifier((1, 4, 5, 1), False)
    recipe = '[image]\nheight = 12\nwidth = 16\nsize = [4, 5]\ngray = true\nmean = [0.5]\nlayout = "nhwc"\n'
    assert made(tmp_path, model, recipe).exit_code == 0
    wanted = frontend.with_image(model, frontend.Pixels(12, 16, size=(4, 5), gray=True, mean=(0.5,)), layout="nhwc")
    assert (tmp_path / "out.onnx").read_bytes() == wanted
    assert made(tmp_path, classifier((1, 5, 8), False), f"{AUDIO}integers = false\n").exit_code == 0
    types = {node.op_type for node in read_model((tmp_path / "out.onnx").read_bytes(), "", {}).nodes}
    assert "STFT" in types and "LogMel" not in types


@pytest.mark.parametrize(
    "recipe, message",
    [
        ("", "has the tables []"),
        ("[sound]\n", "has the tables ['sound']"),
        ("[audio]\n[image]\n", "has the tables ['audio', 'image']"),
        ("audio = 3\n", "audio is no table"),
        ("[audio]\nwindows = 3\n", "audio: nothing is called 'windows'"),
        ("[audio]\nwindow = 3.5\n", "audio: window is 3.5, wants int"),
        ("[audio]\nhops = true\n", "audio: hops is True, wants int"),
        ("[audio]\nbands = 7\n", "no frames of 7 features"),
        ("[image]\nwidth = 3\n", "image: has no height and width"),
        ("[image]\nwidth = 3\nheight = 3\nsize = [1]\n", "image: size: (1,)"),
        ("[image]\nwidth = 3\nheight = 3\ngray = 1\n", "image: gray is true or false"),
        ("[image]\nwidth = 3\nheight = [3]\n", "image: height and width are numbers"),
        ("[decision]\naverage = 0\n", "a mean of 0 inferences"),
        ("[audio\n", "not a TOML file"),
    ],
)
def test_a_recipe_that_says_nothing_is_refused(recipe, message, tmp_path):
    done = made(tmp_path, classifier((1, 5, 8), True), recipe)
    assert done.exit_code == 2 and message in done.stdout + done.stderr, done
    assert not (tmp_path / "out.onnx").exists()


def test_the_model_itself_is_not_replaced(tmp_path):
    (tmp_path / "m.onnx").write_bytes(classifier((1, 5, 8), True))
    (tmp_path / "front.toml").write_text(AUDIO)
    done = aidge_build("frontend", tmp_path / "m.onnx", "--recipe", tmp_path / "front.toml", "--out", tmp_path / "m.onnx")
    assert done.exit_code == 2 and "would replace" in done.stderr
