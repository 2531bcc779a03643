# SPDX-License-Identifier: MIT
"""The options that quantize a float model: a part of the one table. Every verb that reads a model has them, and `quantize`."""

from __future__ import annotations

from aidge_build.base.options.option import Option

QUANTIZING = "quantizing a float model (with --quantize)"

QUANTIZATION = (
    Option(
        "quantize",
        "samples of the inputs, an NPZ file with `x` or an array for each input: quantize the float model first "
        "(default: compile the model as it is)",
        "file",
        metavar="F.npz",
        topic=QUANTIZING,
    ),
    Option(
        "ranges",
        "method that finds the range of a tensor from the samples",
        values=("minmax", "moving-average", "percentile", "mse", "entropy"),
        default="minmax",
        topic=QUANTIZING,
    ),
    Option(
        "percentile",
        "percentage of the values that the range keeps, for --ranges percentile",
        metavar="P",
        default="99.99",
        topic=QUANTIZING,
    ),
    Option(
        "activations",
        "zero point of each tensor: chosen from its range (asymmetric), or 0 (symmetric)",
        values=("asymmetric", "symmetric"),
        default="asymmetric",
        topic=QUANTIZING,
    ),
    Option(
        "equalize",
        "on: scale channels so that all channels of a tensor have similar ranges; off: leave them",
        values=("on", "off"),
        default="off",
        topic=QUANTIZING,
    ),
    Option(
        "correct-bias",
        "on: correct each bias by the shift that quantization causes in its channel's mean; off: leave it",
        values=("on", "off"),
        default="off",
        topic=QUANTIZING,
    ),
    Option(
        "round-weights",
        "on: round each weight up or down, whichever keeps the layer's results closer; off: to the nearest value",
        values=("on", "off"),
        default="off",
        topic=QUANTIZING,
    ),
    Option(
        "layer-types",
        "type of a layer, named as tables print it, by its node or by its output: int8, int16 or float32, or int4, int3 or int2 "
        "for int8 with weights of so many bits (default: int8)",
        "pairs",
        metavar="LAYER=TYPE",
        topic=QUANTIZING,
    ),
    Option(
        "least-sqnr",
        "least signal to quantization noise of each output on the samples, in dB, below which quantizing fails; "
        "--least-sqnr=-inf skips the comparison (default: 10)",
        "decimal",
        metavar="DB",
        unlimited="-inf",
        topic=QUANTIZING,
    ),
    Option(
        "io-type",
        "type of the model's inputs and outputs",
        values=("int8", "float32"),
        default="int8",
        topic=QUANTIZING,
    ),
    Option(
        "io-layout",
        "nhwc: images with their channels last, as a camera delivers them; model: the layout of the file",
        values=("model", "nhwc"),
        default="model",
        topic=QUANTIZING,
    ),
)
