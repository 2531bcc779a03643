# SPDX-License-Identifier: MIT
"""The digits example: its committed files are what its scripts write, and the model is as good as its README says."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits"
BOARDS = EXAMPLE.parents[1] / "boards"
TEST_IMAGES = 450

# Knows the right answers and gives WRONG_ANSWERS wrong ones, so that the firmware's counting shows.
ORACLE_HEADER = """
#include <stdint.h>
#define DIGITS_INPUT_SIZE 64
#define DIGITS_OUTPUT_SIZE 10
int digits_run(const int8_t *input, int8_t *output);
"""
ORACLE = """
#include "digits.h"
#include "test_images.h"
#include <stdlib.h>
int digits_run(const int8_t *input, int8_t *output)
{
    static int image;
    const int wrong_answers = atoi(getenv("WRONG_ANSWERS"));
    for (int i = 0; i < DIGITS_INPUT_SIZE; i++)
        if (input[i] != 8 * test_images[image][i] - 64)
            return 1;
    for (int i = 0; i < DIGITS_OUTPUT_SIZE; i++)
        output[i] = -128;
    output[(test_labels[image] + (image < wrong_answers)) % DIGITS_OUTPUT_SIZE] = -127;
    image++;
    return 0;
}
"""


@pytest.fixture(scope="module")
def split():
    """Recompute the split from scikit-learn itself: (images, labels, training indices, test indices)."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: it holds the digits")
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    training, test = train_test_split(
        np.arange(len(digits.target)), test_size=TEST_IMAGES, random_state=0, stratify=digits.target
    )
    return digits.images, digits.target, training, test


def correct_answers(model: Path, images: np.ndarray, labels: np.ndarray) -> int:
    """Count right answers on images in the model's own input type, with onnxruntime's optimisations off."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: it is the reference")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    scores = [session.run(None, {"image": image[np.newaxis, np.newaxis]})[0][0] for image in images]
    return int((np.argmax(scores, axis=1) == labels).sum())


def _dataset_module():
    spec = importlib.util.spec_from_file_location("digits_dataset", EXAMPLE / "dataset.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def training_run(split, tmp_path_factory):
    """Train once: the finished process of `train.py --check`, and the float32 model that it wrote."""
    float_model = tmp_path_factory.mktemp("digits") / "float.onnx"
    command = [sys.executable, "-B", EXAMPLE / "train.py", "--check", "--float-out", float_model]
    return subprocess.run(command, capture_output=True, text=True, check=False), float_model


def test_the_committed_model_answers_as_many_test_images_as_the_readme_says(split):
    images, labels, _, test = split
    pixels = (8 * images[test] - 64).astype(np.int8)
    correct = correct_answers(EXAMPLE / "digits.onnx", pixels, labels[test])
    assert correct / TEST_IMAGES >= 0.975
    assert f"int8 {correct} of 450" in (EXAMPLE / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="trains a network: AIDGE_STRESS=1")
def test_the_float_network_answers_as_many_test_images_as_the_readme_says(split, training_run):
    images, labels, _, test = split
    correct = correct_answers(training_run[1], (images[test] / 16).astype(np.float32), labels[test])
    assert correct / TEST_IMAGES >= 0.98
    assert f"float32 {correct} of 450" in (EXAMPLE / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="trains a network: AIDGE_STRESS=1")
def test_training_again_gives_the_bytes_of_the_committed_model(training_run):
    process, _ = training_run
    assert (process.returncode, process.stderr) == (0, "")


def test_training_sees_no_test_image(split):
    training, test = _dataset_module().split()
    assert set(training.indices).isdisjoint(split[3])
    assert len(training.labels) == 1347
    assert list(test.indices) == list(split[3])
    assert re.findall(r"^.*\bsplit\(\).*$", (EXAMPLE / "train.py").read_text(encoding="utf-8"), re.MULTILINE) == [
        "    training, _ = dataset.split()"
    ]


def test_the_committed_test_images_are_what_the_script_writes(split, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dataset", _dataset_module())
    monkeypatch.setattr(sys, "argv", ["test_images.py", "--out", str(tmp_path)])
    runpy.run_path(str(EXAMPLE / "test_images.py"), run_name="__main__")
    written, committed = np.load(tmp_path / "test_images.npz"), np.load(EXAMPLE / "test_images.npz")
    assert all(np.array_equal(written[name], committed[name]) for name in ("x", "labels"))
    for name in ("test_images.c", "test_images.h"):
        assert (EXAMPLE / name).read_bytes() == (tmp_path / name).read_bytes()


def test_the_committed_test_images_are_those_of_the_split(split):
    images, labels, _, test = split
    text = re.sub(r"/\*.*?\*/", "", (EXAMPLE / "test_images.c").read_text(encoding="ascii"), flags=re.DOTALL)
    pixels, answers = (np.array(re.findall(r"\b\d+(?=,)", part), int) for part in text.split("test_labels"))
    assert np.array_equal(pixels.reshape(TEST_IMAGES, 8, 8), images[test])
    assert np.array_equal(answers, labels[test])


def test_the_model_has_int8_input_and_output_and_at_most_20_kilobytes_of_weights():
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    model = onnx.load(EXAMPLE / "digits.onnx")
    kinds = {value.name: value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output)}
    assert kinds == {"image": onnx.TensorProto.INT8, "scores": onnx.TensorProto.INT8}
    weights = [tensor for tensor in model.graph.initializer if tensor.name.endswith("_weights")]
    assert 0 < sum(len(tensor.raw_data) for tensor in weights) <= 20_000


@pytest.fixture(scope="module")
def firmware(tmp_path_factory) -> Path:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed: it compiles the firmware for this machine")
    folder = tmp_path_factory.mktemp("firmware")
    (folder / "digits.h").write_text(ORACLE_HEADER)
    (folder / "oracle.c").write_text(ORACLE)
    sources = [EXAMPLE / "main.c", EXAMPLE / "test_images.c", BOARDS / "semihosting_host.c", folder / "oracle.c"]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    includes = [f"-I{path}" for path in (folder, EXAMPLE, BOARDS)]
    subprocess.run([compiler, *flags, *includes, *sources, "-o", folder / "firmware"], check=True)
    return folder / "firmware"


@pytest.mark.parametrize(
    ("wrong", "printed", "exit_code"),
    [
        (0, "450 images, 450 correct, 100.0 %\n", 0),
        (13, "450 images, 437 correct, 97.1 %\n", 0),
        (14, "450 images, 436 correct, 96.9 %\n", 1),
        (450, "450 images, 0 correct, 0.0 %\n", 1),
    ],
)
def test_the_firmware_counts_right_answers_and_fails_below_97_percent(firmware, wrong, printed, exit_code):
    environment = {**os.environ, "WRONG_ANSWERS": str(wrong)}
    finished = subprocess.run([firmware], capture_output=True, text=True, check=False, env=environment)
    assert (finished.stdout + finished.stderr, finished.returncode) == (printed, exit_code)
