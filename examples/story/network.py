# SPDX-License-Identifier: MIT
"""A decoder of characters in numpy, forward and backward. Each character sees itself and the 127 characters before it.

A character becomes a row of a table. Each layer adds two things to it: attention, in which all query heads share one head of keys
and values (Shazeer 2019), and two linear layers with relu(x)^2 between them (So et al. 2021). Distance lowers the scores of
attention (ALiBi, Press et al. 2021): no position has a table, so the text may be of any length.
"""

from __future__ import annotations

import numpy

CHARACTERS, WIDTH, LAYERS, HEADS, HIDDEN = 64, 96, 4, 4, 224
HEAD, WINDOW = WIDTH // HEADS, 128
EPSILON, UNSEEN = 1e-5, -1e9
SLOPES = 0.25 ** numpy.arange(1, HEADS + 1, dtype=numpy.float32)  # of each head, for a distance of 1
Parameters = dict[str, numpy.ndarray]


def matrices() -> dict[str, tuple[int, int]]:
    """Rows and columns of the weights of each linear layer."""
    found = {}
    for layer in range(LAYERS):
        found[f"{layer}.query"] = (WIDTH, WIDTH)
        found[f"{layer}.key"] = (WIDTH, HEAD)
        found[f"{layer}.value"] = (WIDTH, HEAD)
        found[f"{layer}.output"] = (WIDTH, WIDTH)
        found[f"{layer}.wide"] = (WIDTH, HIDDEN)
        found[f"{layer}.narrow"] = (HIDDEN, WIDTH)
    found["scores"] = (WIDTH, CHARACTERS)
    return found


def first_parameters(seed: int) -> Parameters:
    """Random weights; each layer begins by adding nothing."""
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    found = {"characters": random.normal(0, 0.5, (CHARACTERS, WIDTH)).astype(numpy.float32)}
    for name, (rows, columns) in matrices().items():
        scale = 0.0 if name.endswith(("output", "narrow", "scores")) else rows**-0.5
        found[name] = (scale * random.normal(0, 1, (rows, columns))).astype(numpy.float32)
    return found


def distance_scores(length: int) -> numpy.ndarray:
    """[length * HEADS, length]: what distance adds to the scores."""
    distance = numpy.arange(length)[:, None] - numpy.arange(length)[None]
    seen = (distance >= 0) & (distance < WINDOW)
    added = numpy.where(seen[:, None], -distance[:, None] * SLOPES[None, :, None], UNSEEN)
    return added.reshape(length * HEADS, length).astype(numpy.float32)


def softmax(scores: numpy.ndarray) -> numpy.ndarray:
    """Shares along the last axis, in the bytes of the scores."""
    scores -= scores.max(axis=-1, keepdims=True)
    numpy.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


class Norm:
    """Divides each row by its root mean square."""

    def forward(self, x: numpy.ndarray) -> numpy.ndarray:
        self.factor = 1 / numpy.sqrt(numpy.einsum("td,td->t", x, x)[:, None] / WIDTH + EPSILON)
        self.result = x * self.factor
        return self.result

    def backward(self, gradient: numpy.ndarray) -> numpy.ndarray:
        mean = numpy.einsum("td,td->t", gradient, self.result)[:, None] / WIDTH
        return (gradient - self.result * mean) * self.factor


class Attention:
    """Each character reads values of earlier characters by their keys."""

    def __init__(self, layer: int, length: int):
        self.names = [f"{layer}.{name}" for name in ("query", "key", "value")]
        self.output, self.norm, self.distances = f"{layer}.output", Norm(), distance_scores(length)

    def forward(self, weights: Parameters, x: numpy.ndarray, batch: int) -> numpy.ndarray:
        y = self.norm.forward(x)
        self.query, self.key, self.value = ((y @ weights[name]).reshape(batch, -1, HEAD) for name in self.names)
        self.query *= HEAD**-0.5
        scores = self.query @ self.key.transpose(0, 2, 1)
        scores += self.distances
        self.shares = softmax(scores)
        self.read = (self.shares @ self.value).reshape(-1, WIDTH)
        return self.read @ weights[self.output]

    def backward(self, weights: Parameters, gradient: numpy.ndarray, found: Parameters) -> numpy.ndarray:
        found[self.output] = self.read.T @ gradient
        read = (gradient @ weights[self.output].T).reshape(self.query.shape)
        scores = read @ self.value.transpose(0, 2, 1)
        scores -= numpy.einsum("bij,bij->bi", scores, self.shares)[:, :, None]
        scores *= self.shares
        parts = [scores @ self.key * HEAD**-0.5, scores.transpose(0, 2, 1) @ self.query, self.shares.transpose(0, 2, 1) @ read]
        total = numpy.zeros_like(gradient)
        for name, part in zip(self.names, parts, strict=True):
            flat = part.reshape(len(gradient), -1)
            found[name] = self.norm.result.T @ flat
            total += flat @ weights[name].T
        return self.norm.backward(total)


class Linear:
    """Two linear layers with relu(x)^2 between them."""

    def __init__(self, layer: int):
        self.wide, self.narrow, self.norm = f"{layer}.wide", f"{layer}.narrow", Norm()

    def forward(self, weights: Parameters, x: numpy.ndarray) -> numpy.ndarray:
        self.positive = numpy.maximum(self.norm.forward(x) @ weights[self.wide], 0)
        self.squares = self.positive * self.positive
        return self.squares @ weights[self.narrow]

    def backward(self, weights: Parameters, gradient: numpy.ndarray, found: Parameters) -> numpy.ndarray:
        found[self.narrow] = self.squares.T @ gradient
        wide = gradient @ weights[self.narrow].T
        wide *= self.positive
        wide *= 2
        found[self.wide] = self.norm.result.T @ wide
        return self.norm.backward(wide @ weights[self.wide].T)


class Network:
    """The layers for texts of `length` characters."""

    def __init__(self, length: int):
        self.layers = [(Attention(layer, length), Linear(layer)) for layer in range(LAYERS)]
        self.norm = Norm()

    def forward(self, weights: Parameters, text: numpy.ndarray) -> numpy.ndarray:
        """Logits [batch * length, CHARACTERS] of texts [batch, length]."""
        self.text = text.reshape(-1)
        x = weights["characters"][self.text]
        for attention, linear in self.layers:
            x = x + attention.forward(weights, x, len(text))
            x = x + linear.forward(weights, x)
        return self.norm.forward(x) @ weights["scores"]

    def backward(self, weights: Parameters, gradient: numpy.ndarray) -> Parameters:
        """The gradient of each parameter, of gradients of the logits."""
        found = {"scores": self.norm.result.T @ gradient}
        x = self.norm.backward(gradient @ weights["scores"].T)
        for attention, linear in reversed(self.layers):
            x = x + linear.backward(weights, x, found)
            x = x + attention.backward(weights, x, found)
        chosen = numpy.zeros((len(self.text), CHARACTERS), numpy.float32)
        chosen[numpy.arange(len(self.text)), self.text] = 1
        found["characters"] = chosen.T @ x
        return found


def bits_a_character(weights: Parameters, text: numpy.ndarray, length: int = 1024) -> float:
    """Bits that the network needs for each character of a stream: exact, because layers see 4 windows in all."""
    network, bits, done = Network(length), 0.0, 0
    wanted = numpy.append(text[1:], 0)
    for start in range(0, len(text), length - LAYERS * WINDOW):
        piece = text[start : start + length]
        padded = numpy.append(piece, numpy.zeros(length - len(piece), piece.dtype))
        shares = softmax(network.forward(weights, padded[None]))
        rows = numpy.arange(done - start, min(len(piece), len(text) - 1 - start))
        bits -= numpy.log2(shares[rows, wanted[start + rows]]).sum(dtype=numpy.float64)
        done = start + len(piece)
    return bits / (len(text) - 1)
