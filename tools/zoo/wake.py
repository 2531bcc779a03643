# SPDX-License-Identifier: MIT
"""A wake word in a stream of sound: convolutions over time that keep their windows as states, int8."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy
import onnx

from aidge_build import frontend, net
from aidge_build.contract.reference.execution import prepare
from aidge_build.prepare.quantization import Scheme, quantize
from tools.zoo.made import Arrays, Made, module_of
from tools.zoo.training import Parameters, Task, trained

SEED, STORED, HOPS = 1, 64, 3000
FRONT = frontend.LogMel(rate=8000, window=240, hop=160, bands=16, lowest=100.0)
SEEN = FRONT.fixed(scale=0.0625, zero_point=48)  # the logarithms from -11 to 4.9
TAPS, CHANNELS = 5, 16
STEPS = (1, 2, 4)  # frames between the taps of each convolution: the last one sees 29 frames, 580 ms
STATES = {f"new{number}": f"old{number}" for number in range(1, len(STEPS) + 1)}
SEEN_FRAMES = 1 + (TAPS - 1) * sum(STEPS)
HEARD = 10  # hops after the word's end in which it counts as heard
PIECE = 40  # labelled hops of a sample
U, A, EE, HISS = (300, 800), (750, 1200), (270, 2300), (0, 0)
# The wake word "uasi", and words that have its parts in other orders, or some of them; parts as in examples/keyword/sounds.py.
WAKE = ((U, A, 0.35), (*HISS, 0.25), (EE, EE, 0.4))
OTHERS = (
    ((EE, A, 0.35), (*HISS, 0.25), (U, U, 0.4)),
    ((U, A, 0.35), (*HISS, 0.25), (U, U, 0.4)),
    ((A, U, 0.35), (*HISS, 0.25), (EE, EE, 0.4)),
    ((*HISS, 0.3), (EE, EE, 0.7)),
    ((U, A, 1.0),),
    ((U, A, 0.6), (*HISS, 0.4)),
    ((A, EE, 0.6), (A, EE, 0.4)),
)
DIMS = {
    "conv1": (CHANNELS, 1, TAPS, FRONT.bands),
    "conv2": (CHANNELS, CHANNELS, TAPS, 1),
    "conv3": (CHANNELS, CHANNELS, TAPS, 1),
    "classifier": (2, CHANNELS, 1, 1),
}


def stream(hops: int, seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Sound, int16 [hops * hop], and for each hop whether the wake word has just ended: noise, in it words by random voices."""
    sounds = module_of("keyword", "sounds")
    random = numpy.random.default_rng(seed)
    count, place = hops * FRONT.hop, int(random.integers(2000, 4000))
    sound, heard = random.normal(size=count) * random.uniform(0.002, 0.01), numpy.zeros(hops, numpy.int64)
    while True:
        is_wake = random.random() < 0.4
        parts = WAKE if is_wake else OTHERS[int(random.integers(len(OTHERS)))]
        word = sounds.said(parts, int(random.uniform(0.36, 0.5) * sounds.RATE), random, sounds.GROWN_UPS)
        if place + word.size > count:
            break
        sound[place : place + word.size] += word * random.uniform(0.08, 0.5) / numpy.abs(word).max()
        place += word.size
        if is_wake:
            heard[place // FRONT.hop : place // FRONT.hop + HEARD] = 1
        place += int(random.uniform(0.12, 0.6) * sounds.RATE)
    return numpy.clip(numpy.rint(32768 * sound), -32768, 32767).astype(numpy.int16), heard


def samples(hops: int, seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Pieces of a stream: features [piece, 1, frames, bands] and labels [piece, PIECE, 1]."""
    sound, heard = stream(hops, seed)
    # The firmware's frame of a hop ends with it: the first one begins with the samples before the stream.
    before = numpy.zeros(FRONT.window - FRONT.hop, numpy.int16)
    features = SEEN.real(SEEN.features(numpy.concatenate([before, sound])))
    starts = range(0, len(features) - SEEN_FRAMES - PIECE, PIECE // 2)
    x = [features[start : start + SEEN_FRAMES - 1 + PIECE] for start in starts]
    wanted = [heard[start + SEEN_FRAMES - 1 : start + SEEN_FRAMES - 1 + PIECE] for start in starts]
    return numpy.array(x, numpy.float32)[:, None], numpy.array(wanted)[..., None]


def network(x: net.Value, p: Mapping[str, net.Value]) -> net.Value:
    """The scores of all hops of a piece at once."""
    for number, step in enumerate(STEPS, 1):
        x = net.Relu(net.Conv(x, p[f"conv{number}_weights"], p[f"conv{number}_bias"], dilations=[step, 1]))
    return net.Conv(x, p["classifier_weights"], p["classifier_bias"])


def streaming(parameters: Parameters) -> bytes:
    """The same network for one frame: each convolution joins its old frames and the new one, and keeps all but the oldest."""
    graph = net.Graph("wake")
    p = {name: graph.parameter(name, values) for name, values in parameters.items()}
    x = graph.input("x", (1, 1, 1, FRONT.bands))
    for number, step in enumerate(STEPS, 1):
        frames = (TAPS - 1) * step
        joint = net.Concat(graph.input(f"old{number}", (1, x.dims[1], frames, x.dims[3])), x, axis=2)
        graph.output(net.Slice(joint, *(graph.constant(numpy.array([end])) for end in (1, frames + 1, 2))), f"new{number}")
        x = net.Relu(net.Conv(joint, p[f"conv{number}_weights"], p[f"conv{number}_bias"], dilations=[step, 1]))
    graph.output(net.Flatten(net.Conv(x, p["classifier_weights"], p["classifier_bias"])), "scores")
    model = onnx.load_from_string(graph.onnx())
    model.metadata_props.add(key="aidge_build.states", value=json.dumps(STATES))
    return model.SerializeToString(deterministic=True)


def made() -> Made:
    """Trains on three minutes, quantizes the network for one frame by 400 frames, and puts the front end before it."""
    x, wanted = samples(9000, SEED)
    parameters = trained(Task("wake", x, wanted, network, DIMS, epochs=20, rate=0.005), SEED)
    floating = streaming(parameters)
    quantized = quantize(floating, seen_by(parameters, x[:10]), Scheme(states=STATES))
    front = frontend.fixed_for(quantized, FRONT, input="x")
    return Made(*(frontend.with_audio(model, one, hops=1, input="x") for model, one in ((quantized, front), (floating, FRONT))))


def seen_by(parameters: Parameters, pieces: Sequence[numpy.ndarray]) -> Arrays:
    """The inputs of the network for one frame, states included, over some pieces: each state holds the layer's last frames."""
    found: dict[str, list[numpy.ndarray]] = {"x": [], **{f"old{number}": [] for number in range(1, len(STEPS) + 1)}}
    graph = net.Graph("seen")
    p = {name: graph.parameter(name, values) for name, values in parameters.items()}
    x = graph.input("x", (1, *pieces[0].shape))
    for number, step in enumerate(STEPS[:-1], 1):
        x = net.Relu(net.Conv(x, p[f"conv{number}_weights"], p[f"conv{number}_bias"], dilations=[step, 1]))
        graph.output(x, f"after{number}")
    execution = prepare(graph.view())
    for piece in pieces:
        context = execution.forward(execution.context({}), {"x": piece[None]})
        layers = [piece[None], *(context[f"after{number}"] for number in range(1, len(STEPS)))]
        for back in range(PIECE):
            end = piece.shape[1] - back
            found["x"].append(piece[None, :, end - 1 : end])
            for number, (layer, step) in enumerate(zip(layers, STEPS, strict=True), 1):
                last = layer.shape[2] - back - 1
                found[f"old{number}"].append(layer[:, :, last - (TAPS - 1) * step : last])
    return {name: numpy.array(values, numpy.float32) for name, values in found.items()}


def held_out() -> Arrays:
    """A minute of another stream, hop after hop: label 1 in the ten hops after the wake word."""
    sound, heard = stream(HOPS, seed=2)
    first = numpy.flatnonzero(heard)[0] + HEARD // 2  # a program that runs so many hops has just heard the word
    rows = sound.reshape(HOPS, 1, FRONT.hop)
    return {"x": rows, "labels": heard.astype(numpy.uint8), "recording": numpy.array(first)}
