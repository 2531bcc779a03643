# SPDX-License-Identifier: MIT
"""Synthetic words: the network of examples/keyword, with its front end, its states and its decision."""

from __future__ import annotations

import numpy

from aidge_build import frontend
from aidge_build.measure.accuracy.labelled import NO_LABEL
from tools.zoo.made import Arrays, Made, module_of

SEED, HOP, SOUNDS = 1, 160, 200
STORED = 3 * 26  # hops of three sounds, 320 bytes each


def made() -> Made:
    """What the script of the example trains, and the same network with its front end in float32."""
    train = module_of("keyword", "train")
    sounds, labels = train.clips(500, seed=SEED)
    parameters = train.trained(sounds, labels)
    graph, scores = train.network(parameters, 1)
    graph.output(scores, "scores")
    floating = frontend.with_decision(frontend.with_audio(graph.onnx(), train.FRONT, hops=1), average=2)
    return Made(train.with_ends(parameters, train.features(sounds[:100])), floating)


def held_out() -> Arrays:
    """Sounds that training never saw, one hop after the other. The last hop of a sound has a label: it decides."""
    sounds, labels = module_of("keyword", "sounds").clips(SOUNDS, seed=7)
    hops = sounds.shape[1] // HOP
    words = numpy.roll(numpy.arange(SOUNDS), -1)  # the first one is a word
    rows = sounds[words, : hops * HOP].reshape(-1, 1, HOP)
    judged = numpy.full((SOUNDS, hops), NO_LABEL, numpy.int8)
    judged[:, -1] = labels[words]
    return {"x": rows, "labels": judged.reshape(-1), "recording": numpy.array(hops)}
