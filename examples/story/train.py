# SPDX-License-Identifier: MIT
"""Trains the character model, in numpy:   python train.py float.npz [--text FILE [--sha256 DIGEST]]

It takes half an hour of one core. quantize.py makes the model file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import austen
import numpy
from network import WINDOW, Network, Parameters, bits_a_character, first_parameters, softmax

STEPS, BATCH = 16000, 32
MATRIX_RATE, RATE, DECAY = 0.02, 0.003, 0.05


class Optimizer:
    """Muon (Jordan et al. 2024) for the matrices inside of the network, Adam for the two that know characters."""

    def __init__(self, parameters: Parameters):
        self.mean = {name: numpy.zeros_like(values) for name, values in parameters.items()}
        self.square = {name: numpy.zeros_like(values) for name, values in parameters.items()}
        self.steps = 0

    def step(self, parameters: Parameters, gradients: Parameters, factor: float) -> None:
        """Changes the parameters; `factor` scales both rates."""
        self.steps += 1
        for name, gradient in gradients.items():
            if name in ("characters", "scores"):
                parameters[name] -= factor * RATE * self._adam(name, gradient)
            else:
                parameters[name] *= 1 - factor * MATRIX_RATE * DECAY
                parameters[name] -= factor * MATRIX_RATE * self._muon(name, gradient)

    def _adam(self, name: str, gradient: numpy.ndarray) -> numpy.ndarray:
        self.mean[name] += 0.1 * (gradient - self.mean[name])
        self.square[name] += 0.02 * (gradient**2 - self.square[name])
        mean, square = self.mean[name] / (1 - 0.9**self.steps), self.square[name] / (1 - 0.98**self.steps)
        return mean / (numpy.sqrt(square) + 1e-8)

    def _muon(self, name: str, gradient: numpy.ndarray) -> numpy.ndarray:
        self.mean[name] += 0.05 * (gradient - self.mean[name])
        rows, columns = gradient.shape
        return orthogonal(0.95 * self.mean[name] + 0.05 * gradient) * numpy.float32(max(1, rows / columns) ** 0.5)


def orthogonal(matrix: numpy.ndarray) -> numpy.ndarray:
    """Nearly the orthogonal matrix next to it: five steps of Newton and Schulz."""
    x = matrix / (numpy.linalg.norm(matrix) + 1e-7)
    if tall := len(x) > x.shape[1]:
        x = x.T
    for _ in range(5):
        product = x @ x.T
        x = 3.4445 * x + (-4.7750 * product + 2.0315 * product @ product) @ x
    return x.T if tall else x


def fit(
    parameters: Parameters,
    text: numpy.ndarray,
    steps: int,
    rate: Callable[[float], float],
    rounded: Callable[[Parameters], Parameters] = lambda parameters: parameters,
) -> None:
    """Trains the parameters in place. `rate` is the factor of the rates after a share of the steps; the passes compute with
    `rounded` parameters."""
    random = numpy.random.Generator(numpy.random.PCG64(2))
    network, optimizer, begun = Network(WINDOW), Optimizer(parameters), time.process_time()
    losses = []
    for step in range(steps):
        starts = random.integers(0, len(text) - WINDOW - 1, BATCH)
        pieces = text[starts[:, None] + numpy.arange(WINDOW + 1)]
        weights, wanted = rounded(parameters), pieces[:, 1:].reshape(-1)
        shares = softmax(network.forward(weights, pieces[:, :-1]))
        rows = numpy.arange(len(wanted))
        losses.append(-numpy.log2(shares[rows, wanted]).mean())
        shares[rows, wanted] -= 1
        shares /= len(wanted)
        optimizer.step(parameters, network.backward(weights, shares), rate(step / steps))
        if step % 500 == 499:
            print(f"{step + 1:5} {numpy.mean(losses[-500:]):.4f} bits, {time.process_time() - begun:.0f} s", flush=True)


def arguments(description: str) -> argparse.ArgumentParser:
    """The text, for all scripts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--text", type=Path, default=austen.PACKAGED, help="Rdata.rdb of r-cran-janeaustenr, or plain text (.txt)"
    )
    parser.add_argument("--sha256", default=austen.SHA256, help="the SHA-256 of another text")
    return parser


if __name__ == "__main__":
    parser = arguments("Trains the character model in float32.")
    parser.add_argument("npz", help="the parameters are written to this file")
    given = parser.parse_args()
    text, made = austen.read(given.text, given.sha256), first_parameters(1)
    print(f"{len(text.training):,} characters, {sum(map(numpy.size, made.values())):,} parameters")
    fit(made, text.training, STEPS, lambda done: min(1.0, (1 - done) / 0.6, done * STEPS / 100 + 0.01))
    numpy.savez(given.npz, **made)
    print(f"held-out: {bits_a_character(made, text.held_out):.4f} bits a character")
