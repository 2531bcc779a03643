# SPDX-License-Identifier: MIT
"""Networks of the structure of public noise suppressors and voice detectors, over 50 consecutive frames, beside onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.command import aidge_build
from tests.programs import needs_cross_compiler, needs_qemu
from tests.sanitized import SANITIZED_FLAGS

onnxruntime = pytest.importorskip("onnxruntime")
FRAMES = 50


class Network:
    """An ONNX graph under construction with seeded weights; methods return names of tensors."""

    def __init__(self, seed: int):
        self.random = numpy.random.Generator(numpy.random.PCG64(seed))
        self.nodes: list = []
        self.constants: list = []
        self.inputs: list = []
        self.outputs: list = []
        self.pairs: dict[str, str] = {}

    def value(self, name: str, dims, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, dims)

    def constant(self, values) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def weights(self, *dims) -> str:
        return self.constant((self.random.normal(size=dims) / numpy.sqrt(dims[-1])).astype(numpy.float32))

    def node(self, kind: str, *inputs: str, made: str = "", outputs: int = 1, **attributes) -> str:
        names = [made or f"t{len(self.nodes)}", *(f"t{len(self.nodes)}_{index}" for index in range(1, outputs))]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else tuple(names)

    def input(self, name: str, *dims: int) -> str:
        self.inputs.append(self.value(name, dims))
        return name

    def state(self, name: str, *dims: int) -> str:
        self.outputs.append(self.value(f"{name}_out", dims))
        self.pairs[f"{name}_out"] = name
        return self.input(name, *dims)

    def dense(self, data: str, given: int, made: int, activation: str) -> str:
        return self.node(activation, self.node("Gemm", data, self.weights(made, given), self.weights(made), transB=1))

    def recurrent(self, kind: str, data: str, given: int, hidden: int, name: str, made: str = "") -> str:
        """One step of a GRU or LSTM on [1, given]; its hidden value is a state."""
        gates = 3 if kind == "GRU" else 4
        steps = self.node("Unsqueeze", data, self.constant([0]))
        inputs = [
            steps,
            self.weights(1, gates * hidden, given),
            self.weights(1, gates * hidden, hidden),
            self.weights(1, 2 * gates * hidden),
        ]
        inputs += ["", self.state(f"{name}_h", 1, 1, hidden)]
        attributes = {"hidden_size": hidden, "linear_before_reset": 1} if kind == "GRU" else {"hidden_size": hidden}
        if kind == "LSTM":
            inputs.append(self.state(f"{name}_c", 1, 1, hidden))
        results = [f"{name}_y", f"{name}_h_out", *([f"{name}_c_out"] if kind == "LSTM" else [])]
        self.nodes.append(helper.make_node(kind, inputs, results, **attributes))
        return self.node("Reshape", f"{name}_y", self.constant([1, hidden]))

    def save(self, path: Path, *outputs: tuple[str, tuple[int, ...]]) -> None:
        made = [self.value(name, dims) for name, dims in outputs]
        graph = helper.make_graph(self.nodes, "voice", self.inputs, [*made, *self.outputs], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def suppressor_of_bands(path: Path) -> Network:
    """As RNNoise: 42 features, a dense layer, three GRUs that read each other, gains of 22 bands and voice activity."""
    net = Network(1)
    features = net.input("x", 1, 42)
    dense = net.dense(features, 42, 24, "Tanh")
    voice = net.recurrent("GRU", dense, 24, 24, "vad")
    noise = net.recurrent("GRU", net.node("Concat", dense, voice, features, axis=1), 90, 48, "noise")
    denoise = net.recurrent("GRU", net.node("Concat", voice, noise, features, axis=1), 114, 96, "denoise")
    net.node("Identity", net.dense(denoise, 96, 22, "Sigmoid"), made="gains")
    net.node("Identity", net.dense(voice, 24, 1, "Sigmoid"), made="voice")
    net.save(path, ("gains", (1, 22)), ("voice", (1, 1)))
    return net


def mask_of_a_spectrum(path: Path) -> Network:
    """As DTLN's first half: two LSTMs on a spectrum, a mask of it."""
    net = Network(2)
    spectrum = net.input("x", 1, 65)
    first = net.recurrent("LSTM", spectrum, 65, 32, "one")
    mask = net.dense(net.recurrent("LSTM", first, 32, 32, "two"), 32, 65, "Sigmoid")
    net.node("Mul", mask, spectrum, made="y")
    net.save(path, ("y", (1, 65)))
    return net


def convolutions_that_remember(path: Path) -> Network:
    """As GTCRN: causal convolutions whose past is a part of one cache, written back by ScatterND, and a GRU."""
    net = Network(3)
    frame = net.input("x", 1, 4, 1, 16)
    cache = net.state("cache", 2, 1, 4, 2, 16)
    written = cache
    for index in range(2):
        past = net.node("Gather", cache, net.constant(index), axis=0)
        window = net.node("Concat", past, frame, axis=2)
        kept = net.node("Slice", window, net.constant([1]), net.constant([3]), net.constant([2]))
        block = net.node("Unsqueeze", kept, net.constant([0]))
        last = {"made": "cache_out"} if index == 1 else {}
        written = net.node("ScatterND", written, net.constant([[index]]), block, **last)
        mixed = net.node("Conv", window, net.weights(4, 4, 3, 3), net.weights(4), pads=[0, 1, 0, 1])
        frame = net.node(
            "PRelu", net.node("ConvTranspose", mixed, net.weights(4, 1, 1, 3), pads=[0, 1, 0, 1], group=4), net.weights(4, 1, 1)
        )
    flat = net.node("Reshape", frame, net.constant([1, 64]))
    net.node("Identity", net.dense(net.recurrent("GRU", flat, 64, 16, "g"), 16, 2, "Sigmoid"), made="y")
    net.save(path, ("y", (1, 2)))
    return net


NETWORKS = {
    "a suppressor of bands": suppressor_of_bands,
    "a mask of a spectrum": mask_of_a_spectrum,
    "convolutions that remember": convolutions_that_remember,
}


def references(path: Path, net: Network) -> dict[str, numpy.ndarray]:
    """Seeded frames as x, and onnxruntime's outputs as y_NAME, states carried from frame to frame."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    dims = {one.name: one.shape for one in session.get_inputs()}
    frames = net.random.normal(size=(FRAMES, *dims["x"])).astype(numpy.float32)
    carried = {name: numpy.zeros(dims[name], numpy.float32) for name in net.pairs.values()}
    names = [one.name for one in session.get_outputs()]
    found: dict[str, list] = {}
    for frame in frames:
        values = dict(zip(names, session.run(None, {"x": frame, **carried}), strict=True))
        carried = {source: values[output] for output, source in net.pairs.items()}
        for name in set(names) - set(net.pairs):
            found.setdefault(f"y_{name}", []).append(values[name])
    return {"x": frames, **{name: numpy.stack(values) for name, values in found.items()}}


def verified(name: str, folder: Path, *words: str):
    path = folder / "net.onnx"
    net = NETWORKS[name](path)
    numpy.savez(folder / "io.npz", **references(path, net))
    states = [f"--state={output}={source}" for output, source in net.pairs.items()]
    return aidge_build("verify", path, "--io-data", folder / "io.npz", "--reference", "y", *states, *words)


@pytest.mark.parametrize("name", NETWORKS)
def test_fifty_frames_are_those_of_onnxruntime(name, tmp_path):
    result = verified(name, tmp_path, *SANITIZED_FLAGS)
    assert result.exit_code == 0, result


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_so_are_they_on_a_core(board, tmp_path):
    result = verified("convolutions that remember", tmp_path, "--board", board)
    assert result.exit_code == 0, result
