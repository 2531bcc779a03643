# SPDX-License-Identifier: MIT
"""`verify --layers --float`: the layers of the firmware beside the float model, and which one is to blame."""

from __future__ import annotations

import xml.etree.ElementTree
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import numpy_helper

from aidge_build.measure.accuracy.departure import histograms, sqnr_db
from aidge_build.prepare.quantization import quantize
from aidge_build.prepare.quantization.nearness import EXACT_DB
from tests.command import aidge_build
from tests.models import model

RANDOM = numpy.random.default_rng(5)
NETWORK = """
a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
n = BatchNormalization (a, scale, offset, mean, variance)
r = Relu (n)
p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
c = Conv <pads = [1, 1, 1, 1]> (p, w2, b2)
s = Relu (c)
g = GlobalAveragePool (s)
f = Flatten (g)
y = Gemm <transB = 1> (f, w3, b3)
"""


def values(*dims: int, low: float = -1.0) -> numpy.ndarray:
    return RANDOM.uniform(low, 1, dims).astype(numpy.float32)


CONSTANTS = {
    **{
        "w1": values(8, 2, 3, 3),
        "b1": values(8),
        "w2": values(8, 8, 3, 3) / 4,
        "b2": values(8),
        "w3": values(4, 8),
        "b3": values(4),
    },
    **{"scale": values(8, low=0.5), "offset": values(8), "mean": values(8), "variance": values(8, low=0.5)},
}
FLOAT = model(NETWORK, inputs="float[1,2,8,8] x", outputs="float[1,4] y", constants=CONSTANTS)
SAMPLES = values(12, 2, 8, 8)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("beside")
    (folder / "float.onnx").write_bytes(FLOAT)
    (folder / "int8.onnx").write_bytes(quantize(FLOAT, {"x": SAMPLES}))
    numpy.savez(folder / "io.npz", x=SAMPLES[:4])
    return folder


def verified(files: Path, name: str, *words):
    given = ("--layers", "--float", files / "float.onnx", "--io-data", files / "io.npz", "--board", "host")
    return aidge_build("verify", files / name, *given, *words)


def damaged(name: str, data: bytes, change) -> bytes:
    """The model with one initialiser changed."""
    found = onnx.ModelProto.FromString(data)
    for tensor in found.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(tensor)), name))
            return found.SerializeToString()
    raise AssertionError(f"no {name}: {[tensor.name for tensor in found.graph.initializer]}")


def test_every_layer_has_its_tensor_of_the_float_model_and_none_departs(files, tmp_path):
    done = verified(files, "int8.onnx", "--json", "--picture", tmp_path / "layers.svg")
    assert done.exit_code == 0, done.stderr
    found = done.json["beside_float"]
    assert [layer["original"] for layer in found["layers"]] == ["x", "r", "p", "s", "g", "y"]
    assert found["departs"] is None and found["without_counterpart"] == []
    own = {layer["original"]: layer["own_sqnr_db"] for layer in found["layers"]}
    assert own.pop("p") is None  # a maximum adds no noise
    assert all(level > 25 for level in own.values())
    assert all(layer["sqnr_db"] is None or layer["sqnr_db"] > 20 for layer in found["layers"])
    drawing = xml.etree.ElementTree.parse(tmp_path / "layers.svg").getroot()
    texts = list(drawing.itertext())
    assert f"the firmware's layers compared with {files / 'float.onnx'}" in texts
    assert [text for text in texts if text.startswith("input x: x against x, ")]


def test_the_layer_with_the_fault_is_named_and_not_those_behind_it(files):
    def shuffled(weights):
        return weights[::-1]

    name = next(
        tensor.name
        for tensor in onnx.load(files / "int8.onnx").graph.initializer
        if tensor.data_type == onnx.TensorProto.INT8 and list(tensor.dims) == [8, 8, 3, 3]
    )
    (files / "fault.onnx").write_bytes(damaged(name, (files / "int8.onnx").read_bytes(), shuffled))
    done = verified(files, "fault.onnx", "--json", "--picture", files / "fault.svg", "--least-sqnr", 10)
    assert done.exit_code == 1  # without --least-sqnr it is said and no more
    found = done.json["beside_float"]
    assert "#e15759" in (files / "fault.svg").read_text()  # its bar
    layers = {layer["original"]: layer for layer in found["layers"]}
    assert layers["s"]["tensor"] == found["departs"] == found["shown"]
    assert layers["s"]["own_sqnr_db"] < 10 < layers["r"]["sqnr_db"]
    assert layers["y"]["sqnr_db"] < 20 < layers["y"]["own_sqnr_db"]
    assert sum(found["histogram"]["firmware"]) == sum(found["histogram"]["float"]) == 4 * 8 * 16


def test_a_model_that_the_command_quantizes_is_compared_with_itself_and_a_range_that_was_not_seen_is_said(files, tmp_path):
    numpy.savez(tmp_path / "seen.npz", x=SAMPLES / 20)
    words = ("--io-data", files / "io.npz", "--quantize", tmp_path / "seen.npz", "--layers", "--board", "host")
    done = aidge_build("verify", files / "float.onnx", *words)
    assert done.exit_code == 0
    assert "first layer that departs: node 'input x'" in done.stdout and "calibration saw less" in done.stdout


@pytest.mark.parametrize(
    "words, message",
    [
        (("--float", "{}/float.onnx"), "--float: works only with --layers"),
        (("--layers", "--picture", "p.svg"), "--picture: works only with --float"),
        (("--layers", "--least-sqnr", "10"), "--least-sqnr: works only with --float"),
        (("--layers", "--float", "{}/other.onnx"), "no layer of the firmware has a tensor or node of this model's names"),
        (("--layers", "--float", "{}/float.onnx", "--perturb", "2"), "--float does not fit perturbed vectors"),
    ],
)
def test_what_does_not_belong_together_is_refused_before_anything_is_compiled(files, words, message, monkeypatch):
    monkeypatch.setattr("aidge_build.cli.verify.execute_as", None)
    other = model("q = Tanh(x)", inputs="float[1,2,8,8] x", outputs="float[1,2,8,8] q")
    (files / "other.onnx").write_bytes(other)
    given = [word.format(files) for word in words]
    done = aidge_build("verify", files / "int8.onnx", "--io-data", files / "io.npz", *given)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_a_ratio_is_ten_times_the_logarithm_of_the_powers():
    signal = numpy.array([3.0, -4.0])
    assert sqnr_db(signal, signal + numpy.array([0.3, 0.4])) == pytest.approx(20.0)
    assert sqnr_db(signal, signal) == numpy.inf and sqnr_db(0 * signal, signal) == -numpy.inf
    holed, masked = numpy.array([3.0, numpy.nan]), numpy.array([3.0, -numpy.inf])
    assert sqnr_db(holed, holed) == sqnr_db(masked, signal) == -numpy.inf and sqnr_db(masked, masked) == numpy.inf
    small = numpy.array([5 * 10 ** (-EXACT_DB / 20), 0.0])
    assert sqnr_db(signal, signal + small * 0.99) == numpy.inf and sqnr_db(signal, signal + small * 1.01) < EXACT_DB


def test_both_histograms_share_their_bins():
    found = histograms(numpy.array([0.0, 0.0, 1.0]), numpy.array([-1.0, 3.0]))
    assert (found["low"], found["high"]) == (-1.0, 3.0)
    assert found["float"][0] == found["float"][-1] == 1 and found["firmware"][16] == 2 and found["firmware"][32] == 1
    assert sum(histograms(numpy.zeros(3), numpy.zeros(2))["firmware"]) == 3
