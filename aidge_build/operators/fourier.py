# SPDX-License-Identifier: MIT
"""Fourier transforms of real frames and of complex rows; they replace ONNX's DFT and STFT (`expansions/spectra.py`)."""

from __future__ import annotations

import numpy

from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import attribute, operator
from aidge_build.operators.sample import Sample, numbers


def pairs(values: numpy.ndarray) -> numpy.ndarray:
    """Returns complex numbers as real and imaginary part along a new last axis."""
    return numpy.stack([values.real, values.imag], -1)


def complexes(values: numpy.ndarray) -> numpy.ndarray:
    """Returns complex numbers, given their real and imaginary parts along the last axis."""
    return values[..., 0] + 1j * values[..., 1]


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


@operator("aidge::RealFourier")
class RealFourier(Operator):
    """The spectra of frames of a real signal: [batch, samples] -> [batch, frames, frequencies, 2], real and imaginary part.

    A frame begins every `step` samples (0: there is one) and has as many as the constant input 1, the window it is multiplied
    by, or without a window `length` or all. Zeros after it make `length` values. With `onesided` the frequencies are the
    length // 2 + 1 from 0 up to half the sampling rate, else all `length`.
    """

    length: int = attribute(2, accepts=_is_positive)
    step: int = attribute(0, accepts=_is_count)
    onesided: bool = attribute(True)

    def infer(self, inputs):
        signal, *rest = inputs
        require(signal.rank == 2, f"a signal has the dims [batch, samples], not {list(signal.dims)}")
        require(signal.dtype.is_float, f"a signal of {signal.dtype.name} is not supported")
        window = rest[0] if rest else None
        require(window is None or window.rank == 1, "a window has one axis")
        taps = self.taps(signal.dims[1], None if window is None else window.dims[0])
        require(
            0 < taps <= min(signal.dims[1], self.length),
            f"frames of {taps} of {signal.dims[1]} samples do not fit a transform of {self.length} values",
        )
        return (TensorType((signal.dims[0], self.frames(signal.dims[1], taps), self.bins, 2), signal.dtype),)

    def taps(self, samples: int, window: int | None) -> int:
        """The samples of one frame."""
        return min(samples, self.length) if window is None else window

    def frames(self, samples: int, taps: int) -> int:
        """Returns the number of frames of a signal."""
        return 1 + ((samples - taps) // self.step if self.step else 0)

    @property
    def bins(self) -> int:
        """The number of frequencies of the result."""
        return self.length // 2 + 1 if self.onesided else self.length

    def forward(self, signal, window=None):
        cut = self._cut(signal, window)
        transform = numpy.fft.rfft if self.onesided else numpy.fft.fft
        return pairs(transform(cut if window is None else cut * window, self.length))

    def _cut(self, signal: numpy.ndarray, window: numpy.ndarray | None) -> numpy.ndarray:
        """The frames [batch, frames, taps]."""
        taps = self.taps(signal.shape[1], None if window is None else window.size)
        every = numpy.lib.stride_tricks.sliding_window_view(signal, taps, axis=1)
        return every[:, :: self.step or every.shape[1]]

    def backward(self, gradients, inputs, outputs):
        signal, *rest = inputs
        window = rest[0] if rest else None
        cut = self._cut(signal, window)
        spread = numpy.zeros((*gradients[0].shape[:2], self.length), complex)
        spread[..., : self.bins] = complexes(gradients[0])
        of_frames = (numpy.fft.ifft(spread) * self.length).real[..., : cut.shape[2]]
        result = numpy.zeros(signal.shape)
        for frame in range(cut.shape[1]):
            result[:, frame * self.step : frame * self.step + cut.shape[2]] += of_frames[:, frame] * (
                1 if window is None else window
            )
        return (result, *([(of_frames * cut).sum((0, 1))] if window is not None else [None] * len(rest)))

    @classmethod
    def examples(cls):
        return cls(8), cls(9, 0, False), cls(8, 3), cls(5, 2)

    @classmethod
    def samples(cls):
        whole, odd, windowed, prime = cls.examples()
        return (
            Sample(whole, (numbers(2, 8),)),
            Sample(odd, (numbers(1, 7),)),
            Sample(windowed, (numbers(2, 17), numbers(6))),
            Sample(prime, (numbers(1, 9), numbers(5))),
        )


@operator("aidge::ComplexFourier")
class ComplexFourier(Operator):
    """The spectrum of each row of complex numbers, as real and imaginary part: [rows, values, 2] -> [rows, length, 2].

    Zeros after a row make `length` values. With `inverse` it is the inverse transform, divided by `length`.
    """

    length: int = attribute(2, accepts=_is_positive)
    inverse: bool = attribute(False)

    def infer(self, inputs):
        (rows,) = inputs
        require(rows.rank == 3 and rows.dims[2] == 2, f"rows have the dims [rows, values, 2], not {list(rows.dims)}")
        require(rows.dtype.is_float, f"rows of {rows.dtype.name} are not supported")
        require(0 < rows.dims[1] <= self.length, f"{rows.dims[1]} values do not fit a transform of {self.length}")
        return (TensorType((rows.dims[0], self.length, 2), rows.dtype),)

    def forward(self, rows):
        return pairs((numpy.fft.ifft if self.inverse else numpy.fft.fft)(complexes(rows), self.length))

    def backward(self, gradients, inputs, outputs):
        gradient = complexes(gradients[0])
        whole = numpy.fft.fft(gradient) / self.length if self.inverse else numpy.fft.ifft(gradient) * self.length
        return (pairs(whole[:, : inputs[0].shape[1]]),)

    @classmethod
    def examples(cls):
        return cls(8), cls(6, True)

    @classmethod
    def samples(cls):
        return tuple(Sample(one, (numbers(2, count, 2),)) for one, count in zip(cls.examples(), (8, 5)))
