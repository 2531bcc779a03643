# SPDX-License-Identifier: MIT
"""The audio front end as Python functions: in float, and in the integers that the firmware computes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.log_mel import LARGEST_MULTIPLIER, LENGTHS, STEPS, UNIT, Levels, log_mel, spare_bits
from aidge_build.operators.decimate import decimated
from aidge_build.operators.log_mel import LEAST_OFFSET, MOST_FLOOR, MOST_OFFSET
from aidge_build.prepare.frontend.mel import NORMS, SCALES, WINDOWS, cosines, low_pass, mel_filters, window

LOGARITHMS = {"ln": math.log(2), "log10": math.log10(2), "db": 10 * math.log10(2), "log2": 1.0}  # of a factor of two
FULL_SCALE = 1 << 15  # the sample that means 1.0


def _refuse(what: str, hint: str = "") -> AidgeError:
    return AidgeError(what, code="FRONTEND", hint=hint)


@dataclass(frozen=True)
class LogMel:
    """Log-mel features of 16-bit audio, or with `coefficients` their cosine transform (MFCC).

    Frames of `window` samples begin every `hop`; each is multiplied by a periodic window and transformed with zeros up to
    `length` (0: the next power of two). The power |X|^2 of samples from -1 to 1 is summed up in `bands` triangles from `lowest`
    to `highest` Hz (0: half the rate) with `mel_filters`, and the feature is the logarithm of this sum plus `floor`. With
    `center` frames are centred as in librosa, with zeros before and after the samples. With `decimate` the samples arrive
    `decimate` times as fast as `rate`, and go through an integer filter first (`low_pass`, `operators.decimate`).
    """

    rate: int = 16000
    window: int = 480
    hop: int = 320
    length: int = 0
    bands: int = 40
    lowest: float = 20.0
    highest: float = 0.0
    kind: str = "hann"
    scale: str = "htk"
    norm: str = "none"
    logarithm: str = "ln"
    floor: float = 1e-6
    coefficients: int = 0
    center: bool = False
    decimate: int = 1

    def __post_init__(self):
        for name, known in (("kind", WINDOWS), ("scale", SCALES), ("norm", NORMS), ("logarithm", LOGARITHMS)):
            if getattr(self, name) not in known:
                raise _refuse(f"{name} is {getattr(self, name)!r}", f"known are {', '.join(known)}")
        for entry in fields(self):
            value = getattr(self, entry.name)
            wanted = {"int": int, "float": (int, float), "str": str, "bool": bool}[str(entry.type)]
            if not isinstance(value, wanted) or isinstance(value, bool) is not (entry.type == "bool"):
                raise _refuse(f"{entry.name} is {value!r}, wants {entry.type}")
        if not (0 < self.hop and 0 < self.window <= self.points and self.bands > 0 and 0 <= self.coefficients <= self.bands):
            raise _refuse(
                f"frames of {self.window} samples every {self.hop}, transforms of {self.points} values, {self.bands} bands and "
                f"{self.coefficients} coefficients do not go together"
            )
        if not 0 <= self.lowest < self.top <= self.rate / 2:
            raise _refuse(f"bands from {self.lowest} to {self.top} Hz at {self.rate} samples per second")
        if not 1 <= self.decimate <= 64:
            raise _refuse(f"decimate is {self.decimate}, wants 1 to 64")
        if not self.floor > 0:
            raise _refuse(f"the floor is {self.floor}, wants a positive number: silence has no logarithm")

    @property
    def points(self) -> int:
        """The length of the transform."""
        return self.length or 1 << (self.window - 1).bit_length()

    @property
    def top(self) -> float:
        """The highest frequency of a band."""
        return self.highest or self.rate / 2

    @property
    def width(self) -> int:
        """The number of features of a frame."""
        return self.coefficients or self.bands

    @cached_property
    def taps(self) -> numpy.ndarray:
        """The window [window], real numbers."""
        return window(self.kind, self.window)

    @cached_property
    def filters(self) -> numpy.ndarray:
        """The triangles [bands, points // 2 + 1], real numbers."""
        return mel_filters(self.rate, self.points, self.bands, self.lowest, self.top, self.scale, self.norm)

    @property
    def pads(self) -> tuple[int, int]:
        """Zeros before and after the samples."""
        around = self.points - self.window
        half = self.points // 2
        return (half - around // 2, half - (around - around // 2)) if self.center else (0, 0)

    @cached_property
    def slowing(self) -> numpy.ndarray | None:
        """The taps of the filter that runs before samples are left out, int16; None if all samples are used."""
        return low_pass(self.decimate) if self.decimate > 1 else None

    def frames(self, samples: int) -> int:
        """Returns how many frames so many samples have."""
        if self.slowing is not None:
            samples = 1 + (samples - self.slowing.size) // self.decimate
        return max(0, 1 + (samples + sum(self.pads) - self.window) // self.hop)

    def samples(self, frames: int) -> int:
        """Returns the fewest samples that have so many frames."""
        slow = max(1, self.window + (frames - 1) * self.hop - sum(self.pads))
        return slow if self.slowing is None else (slow - 1) * self.decimate + self.slowing.size

    def cut(self, pcm: numpy.ndarray) -> numpy.ndarray:
        """Returns the frames [..., frames, window] of samples [..., samples]; int16 only."""
        pcm = numpy.asarray(pcm)
        if pcm.dtype != numpy.int16:
            raise _refuse(f"the samples are {pcm.dtype}, want int16", "numpy.clip(numpy.rint(32768 * x), -32768, 32767)")
        if self.slowing is not None and pcm.shape[-1] >= self.slowing.size:
            pcm = decimated(pcm, self.slowing, self.decimate)
        padded = numpy.pad(pcm, [(0, 0)] * (pcm.ndim - 1) + [self.pads])
        if padded.shape[-1] < self.window:
            raise _refuse(f"{pcm.shape[-1]} samples have no frame of {self.window}")
        return numpy.lib.stride_tricks.sliding_window_view(padded, self.window, axis=-1)[..., :: self.hop, :]

    def features(self, pcm: numpy.ndarray) -> numpy.ndarray:
        """Returns float32 features [..., frames, width] of int16 samples [..., samples], computed in float64 and rounded once."""
        spectra = numpy.fft.rfft(self.cut(pcm) / FULL_SCALE * self.taps, self.points)
        power = (spectra.real**2 + spectra.imag**2) @ self.filters.T
        found = LOGARITHMS[self.logarithm] * numpy.log2(power + self.floor)
        return (found @ cosines(self.bands, self.coefficients) if self.coefficients else found).astype(numpy.float32)

    def fixed(self, scale: float, zero_point: int = 0, dtype: str = "int8") -> FixedLogMel:
        """Returns the front end in integers: a feature f is stored as round(f / scale) + zero_point, or AidgeError."""
        return FixedLogMel(self, float(scale), int(zero_point), DType(dtype))


@dataclass(frozen=True)
class FixedLogMel:
    """Log-mel features, computed in integers: the bits of the firmware (docs/frontend.md)."""

    front: LogMel
    scale: float
    zero_point: int
    dtype: DType

    def __post_init__(self):
        if self.front.points not in LENGTHS:
            raise _refuse(
                f"transforms of {self.front.points} values in integers", f"powers of two from {LENGTHS[0]} to {LENGTHS[-1]}"
            )
        if self.front.coefficients:
            raise _refuse("a cosine transform in integers is not supported", "let the first layer of the network see the bands")
        if self.dtype not in (DType.int8, DType.int16):
            raise _refuse(f"features of {self.dtype.name}", "int8 or int16")
        low, high = self.dtype.range
        if not (self.scale > 0 and math.isfinite(self.scale) and low <= self.zero_point <= high):
            raise _refuse(f"a scale of {self.scale} and a zero point of {self.zero_point} for {self.dtype.name}")
        if self.levels.multiplier < 1:
            raise _refuse(f"a scale of {self.scale} leaves nothing of the logarithm")

    @cached_property
    def taps(self) -> numpy.ndarray:
        """The window in units of 2^-15, int16."""
        return numpy.clip(numpy.rint(UNIT * self.front.taps), -UNIT, UNIT - 1).astype(numpy.int16)

    @cached_property
    def unit(self) -> float:
        """The number of integer units in 1.0 of a filter: the largest weight becomes 65535."""
        return 65535 / float(self.front.filters.max())

    @cached_property
    def weights(self) -> numpy.ndarray:
        """The triangles [bands, points // 2 + 1] in these units, uint16."""
        return numpy.rint(self.unit * self.front.filters).astype(numpy.uint16)

    @cached_property
    def levels(self) -> Levels:
        """The conversion from logarithms of the integers to stored values."""
        # Samples have 15 bits after the point, spectra `spare_bits` more, their squares twice as many.
        one = 2.0 ** (2 * (15 + spare_bits(self.front.points))) * self.unit
        gain = LOGARITHMS[self.front.logarithm] / (self.scale * STEPS)
        start = self.zero_point - gain * STEPS * math.log2(one) + 0.5 * gain  # a logarithm is rounded down, by half a step
        for shift in range(30, -1, -1):
            multiplier, offset = round(gain * 2**shift), round((start + 0.5) * 2**shift)
            if multiplier <= LARGEST_MULTIPLIER and LEAST_OFFSET <= offset <= MOST_OFFSET:
                floor = min(max(round(self.front.floor * one), 1), MOST_FLOOR)
                return Levels(multiplier, offset, shift, *self.dtype.range, floor)
        raise _refuse(f"features in steps of {self.scale} do not fit the integers of the front end", "a larger scale")

    def features(self, pcm: numpy.ndarray) -> numpy.ndarray:
        """Returns stored features [..., frames, bands] of int16 samples [..., samples]: the bits of the firmware."""
        cut = self.front.cut(pcm)
        found = log_mel(cut.reshape(-1, self.front.window), self.taps, self.weights, self.front.points, self.levels)
        return found.reshape(*cut.shape[:-1], self.front.bands).astype(self.dtype.numpy)

    def real(self, stored: numpy.ndarray) -> numpy.ndarray:
        """Returns the real values of stored features, float32: the values to train a float model on."""
        return (stored.astype(numpy.int64) - self.zero_point).astype(numpy.float32) * numpy.float32(self.scale)
