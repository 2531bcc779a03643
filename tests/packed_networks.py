# SPDX-License-Identifier: MIT
"""An int8 network whose layers have weights of few bits, and its vectors."""

from __future__ import annotations

from pathlib import Path

import numpy

from tests.models import model

# layer: (dims of its weights, their values)
BYTES = {1: (-1, 1), 2: range(-2, 2), 3: range(-4, 4), 4: range(-8, 8), "table": range(-120, 121, 16), 8: range(-127, 128)}
LAYERS = {
    "conv": ((16, 4, 3, 3), 4),
    "depthwise": ((16, 1, 3, 3), 3),
    "pointwise": ((32, 16, 1, 1), 2),
    "dense": ((24, 192), 1),
    "last": ((10, 16), "table"),
}
TEXT = """
    d_x = DequantizeLinear(x, scale, zero)
    conv = Conv<pads = [1, 1, 1, 1]>(d_x, d_w_conv, b_conv)
    q_1 = QuantizeLinear(conv, scale, zero)
    d_1 = DequantizeLinear(q_1, scale, zero)
    depthwise = Conv<pads = [1, 1, 1, 1], group = 16>(d_1, d_w_depthwise, b_depthwise)
    q_2 = QuantizeLinear(depthwise, scale, zero)
    d_2 = DequantizeLinear(q_2, scale, zero)
    pointwise = Conv(d_2, d_w_pointwise, b_pointwise)
    small = MaxPool<kernel_shape = [4, 4], strides = [4, 4]>(pointwise)
    q_3 = QuantizeLinear(small, scale, zero)
    d_3 = DequantizeLinear(q_3, scale, zero)
    flat = Flatten(d_3)
    dense = Gemm<transB = 1>(flat, d_w_dense, b_dense)
    q_4 = QuantizeLinear(dense, scale, zero)
    d_4 = DequantizeLinear(q_4, scale, zero)
    series = Reshape(d_4, three)
    d_forward = DequantizeLinear(forward, fine, zero)
    d_back = DequantizeLinear(back, fine, zero)
    all_states, state = GRU<hidden_size = 16, linear_before_reset = 1>(series, d_forward, d_back)
    q_5 = QuantizeLinear(state, scale, zero)
    d_5 = DequantizeLinear(q_5, scale, zero)
    row = Reshape(d_5, one)
    last = Gemm<transB = 1>(row, d_w_last, b_last)
    y = QuantizeLinear(last, scale, zero)
"""


def weights(random: numpy.random.Generator, dims: tuple[int, ...], bits: int | str) -> numpy.ndarray:
    """int8 weights that take so many bits, or have 16 different values ("table")."""
    values = random.choice(BYTES[bits], dims)
    values.reshape(-1)[:2] = BYTES[bits][0], BYTES[bits][-1]
    return values.astype(numpy.int8)


def packed_network() -> bytes:
    """x int8 [1, 4, 12, 8] to y int8 [1, 10], with a layer of each kind that kernels read, and weights of each kind."""
    random, lines = numpy.random.default_rng(11), ""
    constants: dict[str, object] = {"scale": numpy.float32(1 / 32), "zero": numpy.int8(0), "fine": numpy.float32(1 / 64)}
    constants |= {"three": numpy.array([3, 1, 8]), "one": numpy.array([1, 16]), "zeros": numpy.int32(0)}
    for name, (dims, bits) in LAYERS.items():
        stored = weights(random, dims, bits)
        scale = numpy.float32(1 / (stored.std() * numpy.sqrt(stored[0].size)))
        constants |= {f"w_{name}": stored, f"s_{name}": scale, f"t_{name}": scale / numpy.float32(32)}
        constants[f"i_{name}"] = random.integers(-900, 900, dims[0]).astype(numpy.int32)
        lines += f"d_w_{name} = DequantizeLinear(w_{name}, s_{name}, zero)\n"
        lines += f"b_{name} = DequantizeLinear(i_{name}, t_{name}, zeros)\n"
    constants |= {"forward": weights(random, (1, 48, 8), 4), "back": weights(random, (1, 48, 16), 4)}
    return model(lines + TEXT, inputs="int8[1,4,12,8] x", outputs="int8[1,10] y", constants=constants)


def packed_array(pieces: list[tuple[str, int, int]], seed: int) -> bytes:
    """Runs of random bytes of (kind, bytes, times): a run is there several times, with other bytes."""
    random, values = numpy.random.default_rng(seed), {str(bits): values for bits, values in BYTES.items()}
    runs = [random.choice(values[kind], length) for kind, length, times in pieces for _ in range(times)]
    return numpy.concatenate(runs).astype(numpy.int8).tobytes()


def packed_vectors(path: Path) -> Path:
    """Two vectors for the network."""
    numpy.savez(path, x=numpy.random.default_rng(12).integers(-128, 128, (2, 1, 4, 12, 8)).astype(numpy.int8))
    return path
