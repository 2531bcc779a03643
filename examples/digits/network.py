# SPDX-License-Identifier: MIT
"""A small convolutional network that trains in numpy to the same bits on every machine.

BLAS adds the terms of a matrix product in an order of its own, which differs with the CPU and the number of threads; the
rounding errors differ with it, and training amplifies them. So every operand of a product is first rounded to a grid of
multiples of 2^-k. All partial sums are then integers below 2^53 on a finer grid, which float64 adds without any rounding, in
any order. `exact_product` checks that bound on every call. All other steps are single IEEE operations.

Images are [image][row][column][channel] here; the exported model uses the order of ONNX.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

WEIGHT_BITS = 12
ACTIVATION_BITS = 12
GRADIENT_BITS = 18
KERNEL = 3


def on_grid(values: np.ndarray, bits: int) -> np.ndarray:
    """Round to the nearest multiple of 2^-bits, ties to even."""
    step = 2.0**bits
    return np.rint(values * step) / step


def exact_product(left: np.ndarray, right: np.ndarray, bits: int) -> np.ndarray:
    """Return left @ right, whose products are multiples of 2^-bits; ArithmeticError if a sum might need more than 53 bits."""
    largest_sum = left.shape[1] * np.abs(left).max() * np.abs(right).max() * 2.0**bits
    if not largest_sum < 2.0**53:
        raise ArithmeticError(f"a sum of {left.shape[1]} terms may reach {largest_sum:.3g}: not exact in float64")
    return left @ right


def patches(images: np.ndarray) -> np.ndarray:
    """Return each pixel's 3 x 3 neighbourhood, zeros outside: one row of 9 * channels values per pixel."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (KERNEL, KERNEL), axis=(1, 2))
    return windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, KERNEL * KERNEL * images.shape[3])


class Affine:
    """Weights, bias and their momentum: what a convolution and a fully connected layer share.

    `weights` is a matrix [terms][outputs].
    """

    def __init__(self, terms: int, outputs: int, random: np.random.RandomState) -> None:
        bound = np.sqrt(6.0 / terms)
        self.weights = random.uniform(-bound, bound, (terms, outputs))
        self.bias = np.zeros(outputs)
        self._velocity = [np.zeros_like(self.weights), np.zeros_like(self.bias)]

    def grid_weights(self) -> np.ndarray:
        return on_grid(self.weights, WEIGHT_BITS)

    def grid_bias(self) -> np.ndarray:
        return on_grid(self.bias, WEIGHT_BITS)

    def apply(self, rows: np.ndarray) -> np.ndarray:
        self._rows = rows
        return exact_product(rows, self.grid_weights(), ACTIVATION_BITS + WEIGHT_BITS) + self.grid_bias()

    def learn(self, gradient: np.ndarray) -> None:
        """Keep the loss's gradient by weights and bias, given that by the rows of the output."""
        by_weights = exact_product(self._rows.T, gradient, ACTIVATION_BITS + GRADIENT_BITS)
        self._gradients = [by_weights, gradient.sum(axis=0)]

    def step(self, rate: float, momentum: float, decay: float) -> None:
        self._gradients[0] = self._gradients[0] + decay * self.weights
        for velocity, gradient, values in zip(self._velocity, self._gradients, (self.weights, self.bias), strict=True):
            velocity *= momentum
            velocity += gradient
            values -= rate * velocity


class Convolution(Affine):
    """3 x 3 convolution with zero padding, then Relu. `weights` rows are in the order [ky][kx][input channel]."""

    def __init__(self, inputs: int, outputs: int, random: np.random.RandomState) -> None:
        super().__init__(KERNEL * KERNEL * inputs, outputs, random)
        self.inputs, self.outputs = inputs, outputs

    def forward(self, images: np.ndarray) -> np.ndarray:
        sums = self.apply(patches(images)).reshape(*images.shape[:3], self.outputs)
        self._active = sums > 0
        return on_grid(sums * self._active, ACTIVATION_BITS)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        gradient = gradient * self._active
        self.learn(gradient.reshape(-1, self.outputs))
        kernel = self.grid_weights().reshape(KERNEL, KERNEL, self.inputs, self.outputs)
        turned = kernel[::-1, ::-1].transpose(0, 1, 3, 2).reshape(-1, self.inputs)
        by_input = exact_product(patches(gradient), turned, GRADIENT_BITS + WEIGHT_BITS)
        return on_grid(by_input.reshape(*gradient.shape[:3], self.inputs), GRADIENT_BITS)


class MaxPool:
    """The largest of each 2 x 2 window; of equal ones the first gets the gradient."""

    def forward(self, images: np.ndarray) -> np.ndarray:
        count, height, width, channels = images.shape
        windows = images.reshape(count, height // 2, 2, width // 2, 2, channels).transpose(0, 1, 3, 5, 2, 4)
        windows = windows.reshape(count, height // 2, width // 2, channels, 4)
        self._winner = windows.argmax(axis=4)[..., np.newaxis]
        return np.take_along_axis(windows, self._winner, axis=4)[..., 0]

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        count, height, width, channels = gradient.shape
        windows = np.zeros((*gradient.shape, 4))
        np.put_along_axis(windows, self._winner, gradient[..., np.newaxis], axis=4)
        windows = windows.reshape(count, height, width, channels, 2, 2).transpose(0, 1, 4, 2, 5, 3)
        return windows.reshape(count, 2 * height, 2 * width, channels)


class FullyConnected(Affine):
    """A linear layer on the flattened image. `weights` rows are in the order [row][column][channel]."""

    def forward(self, images: np.ndarray) -> np.ndarray:
        self._shape = images.shape
        return on_grid(self.apply(images.reshape(len(images), -1)), ACTIVATION_BITS)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        self.learn(gradient)
        by_input = exact_product(gradient, self.grid_weights().T, GRADIENT_BITS + WEIGHT_BITS)
        return on_grid(by_input, GRADIENT_BITS).reshape(self._shape)


class Network:
    """conv 8 - conv 16 - pool - conv 32 - pool - fully connected 10, on 8 x 8 images with values 0 to 1."""

    def __init__(self, seed: int) -> None:
        random = np.random.RandomState(seed)
        self.convolutions = (Convolution(1, 8, random), Convolution(8, 16, random), Convolution(16, 32, random))
        self.classifier = FullyConnected(2 * 2 * 32, 10, random)
        first, second, third = self.convolutions
        self._layers = (first, second, MaxPool(), third, MaxPool(), self.classifier)

    def forward(self, images: np.ndarray, see: Callable[[object, np.ndarray], None] = lambda layer, output: None) -> np.ndarray:
        """Return the ten scores per image; `see` is shown each layer's output."""
        values = images
        for layer in self._layers:
            values = layer.forward(values)
            see(layer, values)
        return values

    def learn(self, images: np.ndarray, labels: np.ndarray, rate: float, momentum: float, decay: float) -> None:
        """One step of gradient descent with momentum on the mean cross-entropy of a batch."""
        scores = self.forward(images)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        gradient = odds / odds.sum(axis=1, keepdims=True)
        gradient[np.arange(len(labels)), labels] -= 1.0
        # exp differs in its last bit between machines; 18 bits on the grid do not see it.
        gradient = on_grid(gradient, GRADIENT_BITS)
        for layer in reversed(self._layers):
            gradient = layer.backward(gradient)
        for layer in (*self.convolutions, self.classifier):
            layer.step(rate / len(labels), momentum, decay * len(labels))


def deformed(images: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Stretch, slant, turn and shift each image a little: a random affine map, bilinear between pixels, zeros outside."""
    count, height, width, _ = images.shape
    linear = np.eye(2) + random.uniform(-0.15, 0.15, (count, 2, 2))
    shift = random.uniform(-0.7, 0.7, (count, 2))
    y = np.arange(height)[:, np.newaxis] - (height - 1) / 2
    x = np.arange(width)[np.newaxis, :] - (width - 1) / 2

    def source(axis: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the pixel to read along an axis of the padded image, and the distance to it."""
        a, b, c = (values[:, np.newaxis, np.newaxis] for values in (linear[:, axis, 0], linear[:, axis, 1], shift[:, axis]))
        position = np.clip(a * y + b * x + c + (size - 1) / 2, -1, size) + 1
        whole = np.floor(position).astype(int)
        return whole, position - whole

    row, down = source(0, height)
    column, right = source(1, width)
    padded = np.pad(images[..., 0], ((0, 0), (1, 2), (1, 2)))
    image = np.arange(count)[:, np.newaxis, np.newaxis]
    upper = (1 - right) * padded[image, row, column] + right * padded[image, row, column + 1]
    lower = (1 - right) * padded[image, row + 1, column] + right * padded[image, row + 1, column + 1]
    return on_grid((1 - down) * upper + down * lower, ACTIVATION_BITS)[..., np.newaxis]


def train(images: np.ndarray, labels: np.ndarray, epochs: int, seed: int) -> Network:
    """Train on images [image][8][8][1] with values 0 to 1; the learning rate falls linearly to zero."""
    batch, first_rate, momentum, decay = 32, 0.05, 0.9, 1e-4
    network = Network(seed)
    random = np.random.RandomState(seed + 1)
    for epoch in range(epochs):
        order = random.permutation(len(images))
        rate = first_rate * (1.0 - epoch / epochs)
        for start in range(0, len(order) - batch + 1, batch):  # a last batch of a few images would only add noise
            chosen = order[start : start + batch]
            network.learn(deformed(images[chosen], random), labels[chosen], rate, momentum, decay)
    return network
