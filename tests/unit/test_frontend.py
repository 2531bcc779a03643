# SPDX-License-Identifier: MIT
"""The audio front end in Python: librosa's parameters, integers beside floats, nodes in front of models."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import frontend, net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.prepare.quantization import quantize
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format import read_model
from tests.exactness import librosa_references

PCM = librosa_references.pcm()


def run(file: bytes, values: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """The outputs of a model in numpy."""
    view, _ = import_onnx(file, "net.onnx", builtin_operators(), {}, {})
    execution = prepare(view)
    context = execution.context({})
    execution.forward(context, values)
    return {name: (context.hidden if name in context.hidden else context.instances)[name] for name in view.outputs}


def classifier(frames: int = 5, bands: int = 8, dims: tuple[int, ...] = ()) -> bytes:
    """A small float model of features."""
    random = numpy.random.Generator(numpy.random.PCG64(3))
    graph = net.Graph("classifier")
    features = graph.input("features", dims or (1, frames, bands))
    weights = graph.parameter("weights", random.normal(size=(frames * bands, 3)).astype(numpy.float32))
    graph.output(net.Gemm(net.Flatten(features), weights), "scores")
    return graph.onnx()


SMALL = frontend.LogMel(window=100, hop=40, bands=8, lowest=100.0)


@pytest.mark.parametrize("name", librosa_references.CASES)
def test_float_features_are_those_of_librosa(name):
    stored = numpy.load(librosa_references.STORED)[name]
    words = librosa_references.CASES[name]
    found = frontend.LogMel(**words).features(PCM)
    around = (words["length"] - words["window"]) // 2 if not words.get("center") else 0
    found = found if not around else frontend.LogMel(**words).features(PCM[around:])
    assert found.shape == stored.shape and found.dtype == numpy.float32
    assert numpy.abs(found - stored).max() < 1e-5 * numpy.abs(stored).max()


@pytest.mark.parametrize("name", librosa_references.CASES)
def test_the_float_model_gives_the_features_of_the_function(name):
    front = frontend.LogMel(**librosa_references.CASES[name])
    count = front.samples(6)
    (found,) = run(frontend.audio_model(front, count), {"audio_pcm": PCM[None, :count]}).values()
    wanted = front.features(PCM[:count])
    assert found.shape == (1, *wanted.shape) == (1, 6, front.width)
    assert numpy.abs(found[0] - wanted).max() < 1e-4 * numpy.abs(wanted).max()


@pytest.mark.parametrize(
    "name", [name for name, words in librosa_references.CASES.items() if words["length"] == 512 and "coefficients" not in words]
)
@pytest.mark.parametrize("dtype, steps", [("int8", 250), ("int16", 1000)])
def test_integer_features_are_the_float_ones_within_a_step_nearly_everywhere(name, dtype, steps):
    front = frontend.LogMel(**librosa_references.CASES[name])
    real = front.features(PCM)
    scale = float(real.max() - real.min()) / steps
    fixed = front.fixed(scale, round(float(-(real.max() + real.min()) / 2 / scale)), dtype)
    stored = fixed.features(PCM)
    inside = (stored > fixed.dtype.range[0]) & (stored < fixed.dtype.range[1])
    errors = (fixed.real(stored) - real)[inside] / scale
    assert inside.mean() > 0.99 and stored.dtype == dtype
    # Beside a tone, what lies 80 dB below it is not computed as well.
    assert (numpy.abs(errors) < 1).mean() > (0.97 if dtype == "int8" else 0.9) and abs(errors.mean()) < 0.2
    assert numpy.abs(errors * scale).max() < 2.5


def test_a_quantized_model_says_how_its_features_are_stored_and_then_reads_samples():
    model = classifier()
    real = SMALL.features(PCM[:4000])
    samples = numpy.stack([real[start : start + 5] for start in range(0, 90, 3)])[:, None]
    for io_type in ("float32", "int8"):
        from aidge_build.prepare.quantization import Scheme

        quantized = quantize(model, {"features": samples}, Scheme(io_type=io_type))
        fixed = frontend.fixed_for(quantized, SMALL)
        file = frontend.with_audio(quantized, fixed)
        (value,) = read_model(file, "", {}).inputs
        assert (value.name, value.dtype, value.dims) == ("audio_pcm", DType.int16, (1, 260))
        pcm = PCM[1000:1260]
        stored = fixed.features(pcm)
        given = stored if io_type == "int8" else fixed.real(stored)
        (wanted,) = run(quantized, {"features": given[None]}).values()
        (found,) = run(file, {"audio_pcm": pcm[None]}).values()
        assert numpy.array_equal(found, wanted) and len(numpy.unique(stored)) > 10


@pytest.mark.parametrize("fixed", [False, True])
def test_frames_that_come_one_by_one_give_what_all_of_them_give(fixed):
    front = SMALL.fixed(0.1) if fixed else SMALL
    model = classifier(frames=6)
    whole, streamed = frontend.with_audio(model, front), frontend.with_audio(model, front, hops=2)
    read = read_model(streamed, "", {})
    assert read.states == {"audio_tail_next": "audio_tail", "audio_past_next": "audio_past"}
    assert [value.name for value in read.outputs] == ["audio_tail_next", "audio_past_next", "scores"]
    view, _ = import_onnx(streamed, "net.onnx", builtin_operators(), {}, {})
    assert len(view.states) == 2 and view.given == ("audio_pcm",) and view.handed_out == ("scores",)
    tail, past = numpy.zeros((1, 60), numpy.int16), numpy.zeros((1, 4, 8), numpy.int8 if fixed else numpy.float32)
    for start in range(0, 800, 80):
        values = {"audio_pcm": PCM[None, start : start + 80], "audio_tail": tail, "audio_past": past}
        found = run(streamed, values)
        tail, past = found["audio_tail_next"], found["audio_past_next"]
    (wanted,) = run(whole, {"audio_pcm": PCM[None, 800 - 300 : 800]}).values()
    assert numpy.abs(found["scores"] - wanted).max() < 1e-4 * numpy.abs(wanted).max()


def test_names_of_the_model_are_no_names_of_the_front_end():
    file = classifier()
    graph = net.Graph("other")
    x = graph.input("audio_pcm", (1, 5, 8))
    graph.output(net.Relu(x, name="audio_node"), "y")
    (value,) = read_model(frontend.with_audio(graph.onnx(), SMALL), "", {}).inputs
    assert value.name == "audio_2_pcm"
    (value,) = read_model(frontend.with_audio(file, SMALL), "", {}).inputs
    assert value.name == "audio_pcm"


@pytest.mark.parametrize(
    "words, message",
    [
        ({"kind": "kaiser"}, "kind is 'kaiser'"),
        ({"window": 480.0}, "window is 480.0, wants int"),
        ({"center": 1}, "center is 1, wants bool"),
        ({"window": 600, "length": 512}, "frames of 600 samples every 320, transforms of 512 values"),
        ({"highest": 9000.0}, "bands from 20.0 to 9000.0 Hz at 16000 samples per second"),
        ({"floor": 0.0}, "silence has no logarithm"),
        ({"coefficients": 41}, "40 bands and 41 coefficients do not go together"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(words, message):
    with pytest.raises(AidgeError, match=message):
        frontend.LogMel(**words)


@pytest.mark.requirement("FRONTEND")
def test_what_does_not_fit_is_refused():
    with pytest.raises(AidgeError, match="band 2 of 200 holds no frequency"):
        frontend.LogMel(bands=200).features(PCM)
    with pytest.raises(AidgeError, match="the samples are float64, want int16"):
        SMALL.features(PCM / 1.0)
    with pytest.raises(AidgeError, match="99 samples have no frame of 100"):
        SMALL.features(PCM[:99])
    with pytest.raises(AidgeError, match="which are no frames of 40 features"):
        frontend.with_audio(classifier(3, 7), frontend.LogMel())
    with pytest.raises(AidgeError, match="7 new frames of 5 cannot come one after the other"):
        frontend.with_audio(classifier(), SMALL, hops=7)
    with pytest.raises(AidgeError, match="nothing says how the input 'features' is quantized"):
        frontend.fixed_for(classifier(), SMALL)
    with pytest.raises(AidgeError, match="the model has no input 'audio'"):
        frontend.with_audio(classifier(), SMALL, input="audio")
    with pytest.raises(AidgeError, match="a cosine transform in integers is not supported"):
        frontend.LogMel(coefficients=10).fixed(0.1)
    with pytest.raises(AidgeError, match="transforms of 400 values in integers"):
        frontend.LogMel(window=400, length=400).fixed(0.1)
    with pytest.raises(AidgeError, match="do not fit the integers of the front end"):
        SMALL.fixed(1e-9)


def test_metadata_that_is_none_of_ours_changes_nothing():
    file = frontend.with_audio(classifier(frames=6), SMALL, hops=2)
    for old, new in (
        (b'"audio_tail_next": "audio_tail"', b'"audio_tail_next":            7'),
        (b'{"audio_past_next"', b'["audio_past_next"'),
    ):
        assert len(old) == len(new) and file.count(old) == 1
        assert read_model(file.replace(old, new), "", {}).states == {}


POINTS = {"int8": 5, "uint8": 128}


def scores_model(dtype: str) -> bytes:
    """Scores as they come, float32 or stored."""
    graph = net.Graph("scores")
    x = graph.input("x", (1, 4))
    y = net.Mul(x, graph.constant(numpy.float32(2)))
    if dtype != "float32":
        scale, point = graph.constant(numpy.float32(0.25)), graph.constant(numpy.array(POINTS[dtype], dtype))
        y = net.QuantizeLinear(y, scale, point)
    graph.output(y, "scores")
    return graph.onnx()


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_a_decision_is_the_best_of_the_mean_of_the_last_scores(dtype):
    file = frontend.with_decision(scores_model(dtype), average=3, scores=True)
    read = read_model(file, "", {})
    assert read.states == {"decision_past_next": "decision_past"}
    assert {value.name: value.dtype.name for value in read.outputs} == {
        "decision_past_next": dtype,
        "decision_scores": dtype,
        "decision_label": "int64",
    }
    past = numpy.zeros((2, 4), dtype)
    rows = numpy.random.Generator(numpy.random.PCG64(1)).integers(-8, 9, (7, 1, 4)).astype(numpy.float32)
    for number, row in enumerate(rows):
        found = run(file, {"x": row, "decision_past": past})
        past = found["decision_past_next"]
        if number >= 2:
            mean = 2 * rows[number - 2 : number + 1].mean(0)[0]
            got = found["decision_scores"][0]
            real = got if dtype == "float32" else (got.astype(float) - POINTS[dtype]) * 0.25
            assert numpy.abs(real - mean).max() <= (1e-5 if dtype == "float32" else 0.126)
            assert found["decision_label"].tolist() == [int(real.argmax())]
    (label,) = run(frontend.with_decision(scores_model(dtype)), {"x": rows[0]}).values()
    assert label.tolist() == [int(rows[0].argmax())]


@pytest.mark.requirement("FRONTEND")
def test_what_is_no_row_of_scores_is_refused():
    graph = net.Graph("two")
    x = graph.input("x", (2, 4))
    graph.output(net.Relu(x), "y")
    with pytest.raises(AidgeError, match=r"the output 'y' \[2, 4\] is no row of scores"):
        frontend.with_decision(graph.onnx())
    with pytest.raises(AidgeError, match="a mean of 0 inferences"):
        frontend.with_decision(scores_model("int8"), average=0)
    graph.output(net.Neg(x), "z")
    with pytest.raises(AidgeError, match="the model has 2 outputs"):
        frontend.with_decision(graph.onnx())


def test_samples_that_come_faster_are_filtered_first():
    time = numpy.arange(9600) / 48000
    front, slow = frontend.LogMel(window=400, hop=160, decimate=3), frontend.LogMel(window=400, hop=160)

    def tone(frequency, times):
        return numpy.rint(8000 * numpy.sin(2 * numpy.pi * frequency * times)).astype(numpy.int16)

    low = front.features(tone(1000, time))
    # The filter delays by 23.5 of 48,000ths of a second; of a tone the power stays.
    assert numpy.abs(low.max(1) - slow.features(tone(1000, time[::3])).max(1)[: len(low)]).max() < 0.05
    # 11 kHz would be 5 kHz in every third sample.
    assert slow.features(tone(11000, time[::3])).max() - front.features(tone(11000, time)).max() > 10
    assert front.frames(9600) == len(low) and front.frames(front.samples(7)) == 7 > front.frames(front.samples(7) - 1)


def test_faster_samples_that_come_hop_by_hop_give_what_all_of_them_give():
    front = frontend.LogMel(window=100, hop=40, bands=8, lowest=100.0, decimate=2).fixed(0.1)
    model = classifier(frames=4)
    whole, streamed = frontend.with_audio(model, front), frontend.with_audio(model, front, hops=1)
    view, _ = import_onnx(streamed, "net.onnx", builtin_operators(), {}, {})
    values = {state.read: state.initial for state in view.states}
    assert sorted(values) == ["audio_fast", "audio_past", "audio_tail"]
    for start in range(0, 800, 80):
        found = run(streamed, {"audio_pcm": PCM[None, start : start + 80], **values})
        values = {state.read: found[state.written] for state in view.states}
    (wanted,) = run(whole, {"audio_pcm": PCM[None, 800 - front.front.samples(4) : 800]}).values()
    assert numpy.array_equal(found["scores"], wanted)
