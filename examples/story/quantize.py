# SPDX-License-Identifier: MIT
"""Rounds the weights to 4 bits, trains on, writes the model:   python quantize.py float.npz story.onnx test_text.npz [--bits 4]

Blocks of 32 weights share a scale. It takes four minutes of one core, half of them to measure. The second file has 64 held-out
characters, the characters after them, and the scores that the network has in numpy.
"""

from __future__ import annotations

import austen
import numpy
from decoder import model
from network import Network, Parameters, bits_a_character, matrices
from rounding import real, rounded, table
from train import arguments, fit

STEPS, TESTED = 1000, 64


def all_rounded(parameters: Parameters, bits: int) -> Parameters:
    """The parameters as the model holds them: matrices in `bits`, the table of characters in int8."""
    rows, scale = table(parameters["characters"])
    return {"characters": rows * scale} | {name: real(*rounded(parameters[name], bits)) for name in matrices()}


if __name__ == "__main__":
    parser = arguments("Rounds the weights of the character model, and trains on.")
    parser.add_argument("npz", help="the parameters of train.py")
    parser.add_argument("onnx", help="the model is written to this file")
    parser.add_argument("test", help="characters and scores are written to this file")
    parser.add_argument("--bits", type=int, default=4, choices=(2, 3, 4, 8), help="bits of a weight")
    parser.add_argument("--steps", type=int, default=STEPS, help="how long it trains on")
    given = parser.parse_args()
    text, parameters = austen.read(given.text, given.sha256), dict(numpy.load(given.npz))
    for name, values in (("float", parameters), ("rounded", all_rounded(parameters, given.bits))):
        print(f"{name:8} {bits_a_character(values, text.held_out):.4f} bits a character")
    fit(parameters, text.training, given.steps, lambda done: 0.2 * (1 - done), lambda values: all_rounded(values, given.bits))
    made = all_rounded(parameters, given.bits)
    print(f"trained  {bits_a_character(made, text.held_out):.4f} bits a character")
    with open(given.onnx, "wb") as file:
        file.write(model(parameters, given.bits))
    read, wanted = text.held_out[:TESTED], text.held_out[1 : TESTED + 1]
    scores = Network(TESTED).forward(made, read[None])
    numpy.savez(given.test, x=read[:, None], labels=wanted, scores=scores[:, None])
