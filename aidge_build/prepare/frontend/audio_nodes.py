# SPDX-License-Identifier: MIT
"""The audio front end as nodes: a model of its own, or in front of a key-word model."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.prepare.frontend.audio import FULL_SCALE, LOGARITHMS, FixedLogMel, LogMel
from aidge_build.prepare.frontend.mel import cosines
from aidge_build.prepare.frontend.part import Host, Part, sizes_of
from aidge_build.prepare.frontend.reals import Reals, quantization_of
from aidge_build.sources.onnx_format import write_model

Front = LogMel | FixedLogMel


def plain(front: Front) -> LogMel:
    """The parameters of a front end."""
    return front.front if isinstance(front, FixedLogMel) else front


def audio_model(front: Front, samples: int) -> bytes:
    """The front end as an ONNX file: int16 samples [1, samples] to features [1, frames, width], float32 or as stored."""
    part = Part("audio")
    frames = plain(front).frames(samples)
    if not frames:
        raise AidgeError(f"{samples} samples have no frame of {plain(front).window}", code="FRONTEND")
    pcm = part.input("pcm", (1, samples), DType.int16)
    found = _features(part, front, _slowed(part, front, pcm))
    part.output(found, "features", (1, frames, plain(front).width), dtype_of_features(front))
    return write_model(part.model())


def dtype_of_features(front: Front) -> DType:
    """The element type of the features."""
    return front.dtype if isinstance(front, FixedLogMel) else DType.float32


def with_audio(
    model: bytes,
    front: Front,
    *,
    hops: int = 0,
    input: str = "",
    name: str = "model.onnx",
    external: Mapping[str, bytes] | None = None,
) -> bytes:
    """The model's file with the front end before it: it then takes int16 samples instead of features.

    The features are the model's only input, or `input`; its elements are frames after frames. Without `hops` the new input
    `audio_pcm` [1, samples] has all samples of these frames. With `hops` it has the samples of so many new frames, and two
    states, which the file names, hold what is older: the last samples of a frame, and all features but the new ones.
    A quantized model gets the `FixedLogMel` of `fixed_for`, with features stored as the model reads them.
    AidgeError if something does not fit.
    """
    host = Host(model, name, external or {}, dtype_of_features(front))
    value = host.the("input", input)
    dims = sizes_of(value)
    frames, rest = divmod(math.prod(dims), plain(front).width)
    if rest or not frames:
        raise AidgeError(
            f"the input '{value.name}' has {math.prod(dims)} elements, which are no frames of {plain(front).width} features",
            where=name,
            code="FRONTEND",
        )
    part = Part("audio", host.names, host.opset)
    if hops:
        found = _streamed(part, front, frames, hops)
    else:
        pcm = part.input("pcm", (1, plain(front).samples(frames)), DType.int16)
        found = _features(part, front, _slowed(part, front, pcm))
    found = _as_read(part, front, found, value.dtype, name)
    shaped = part.one("Reshape", found, part.integers(*dims))
    return part.before(host, {part.output(shaped, "features", dims, value.dtype): value.name})


def fixed_for(
    model: bytes,
    front: LogMel,
    *,
    dtype: str = "int8",
    input: str = "",
    name: str = "model.onnx",
    external: Mapping[str, bytes] | None = None,
) -> FixedLogMel:
    """The front end in integers, with the scale and the zero point by which a quantized model reads its features."""
    host = Host(model, name, external or {})
    value = host.the("input", input)
    found = quantization_of(host, value, "input")
    if found is None:
        raise AidgeError(
            f"nothing says how the input '{value.name}' is quantized",
            where=name,
            code="FRONTEND",
            hint="quantize the model before, or give a scale: front.fixed(scale, zero_point)",
        )
    scale, point, stored_as = found
    return front.fixed(scale, point - (128 if stored_as is DType.uint8 else 0), dtype)


def _streamed(part: Part, front: Front, frames: int, hops: int) -> str:
    """Returns the features of all frames: `hops` new frames after the older ones, which a state keeps."""
    parameters, dtype = plain(front), dtype_of_features(front)
    on_reals = stored(part, front)
    kept = parameters.window - parameters.hop
    if parameters.center or kept < 0 or not 0 < hops <= frames:
        raise AidgeError(
            f"{hops} new frames of {frames} cannot come one after the other: frames of {parameters.window} samples every "
            f"{parameters.hop}{', centred' if parameters.center else ''}",
            code="FRONTEND",
        )
    samples = parameters.hop * hops
    joined = part.input("pcm", (1, samples * parameters.decimate), DType.int16)
    if parameters.slowing is not None:
        fast, step = samples * parameters.decimate, parameters.decimate
        joined = _slowed(part, front, _with_tail(part, joined, "fast", fast, parameters.slowing.size - step))
    found = _features(part, front, _with_tail(part, joined, "tail", samples, kept))
    if hops < frames:
        dims = (1, frames - hops, parameters.width)
        past = part.input("past", dims, dtype)
        found = on_reals("Concat", past, found, axis=1)
        later = on_reals("Slice", found, lists=(part.integers(hops), part.integers(frames), part.integers(1)))
        part.state(later, past, dims, dtype)
    return found


def _with_tail(part: Part, pcm: str, name: str, samples: int, kept: int) -> str:
    """Returns the last old samples, which a state of this name keeps, and the new samples after them."""
    if not kept:
        return pcm
    tail = part.input(name, (1, kept), DType.int16)
    joined = part.one("Concat", tail, pcm, axis=1)
    last = part.one("Slice", joined, part.integers(samples), part.integers(samples + kept), part.integers(1))
    part.state(last, tail, (1, kept), DType.int16)
    return joined


def _slowed(part: Part, front: Front, pcm: str) -> str:
    """Samples at the rate of the frames."""
    parameters = plain(front)
    if parameters.slowing is None:
        return pcm
    return part.one("Decimate", pcm, part.constant(parameters.slowing), domain="aidge", step=parameters.decimate)


def stored(part: Part, front: Front) -> Reals:
    """Writes nodes on features."""
    return Reals(part, (front.scale, front.zero_point, front.dtype) if isinstance(front, FixedLogMel) else None)


def _features(part: Part, front: Front, pcm: str) -> str:
    """The features of samples [1, samples] in the words of ONNX, or of the operator for integers."""
    parameters = plain(front)
    if parameters.center:
        before, behind = parameters.pads
        pcm = part.one("Pad", pcm, part.integers(0, before, 0, behind), part.constant(0, numpy.int16))
    if isinstance(front, FixedLogMel):
        levels = front.levels
        return part.one(
            "LogMel",
            pcm,
            part.constant(front.taps),
            part.constant(front.weights),
            domain="aidge",
            length=parameters.points,
            step=parameters.hop,
            multiplier=levels.multiplier,
            offset=levels.offset,
            shift=levels.shift,
            floor=levels.floor,
            to={DType.int8: 3, DType.int16: 5}[front.dtype],
        )
    # The window includes the samples' full scale, so that no other step has to.
    real = part.one("Cast", pcm, to=1)
    taps = numpy.zeros(parameters.points)
    taps[: parameters.window] = parameters.taps / FULL_SCALE
    spare = parameters.points - parameters.window
    real = part.one("Pad", real, part.integers(0, 0, 0, spare)) if spare else real
    spectra = part.one("STFT", real, part.constant(parameters.hop, numpy.int64), part.constant(taps, numpy.float32), onesided=1)
    squares = part.one("Mul", spectra, spectra)
    power = part.one("ReduceSum", squares, part.integers(3), keepdims=0)
    bands = part.one("MatMul", power, part.constant(parameters.filters.T, numpy.float32))
    raised = part.one("Add", bands, part.constant(parameters.floor, numpy.float32))
    found = part.one("Log", raised)
    factor = LOGARITHMS[parameters.logarithm] / math.log(2)
    if parameters.coefficients:
        matrix = factor * cosines(parameters.bands, parameters.coefficients)
        return part.one("MatMul", found, part.constant(matrix, numpy.float32))
    return found if factor == 1 else part.one("Mul", found, part.constant(factor, numpy.float32))


def _as_read(part: Part, front: Front, features: str, dtype: DType, name: str) -> str:
    """The features as the model's input wants them."""
    have = dtype_of_features(front)
    if have is dtype:
        return features
    if isinstance(front, FixedLogMel) and dtype is DType.float32:
        return stored(part, front).real(features)
    raise AidgeError(f"the model reads {dtype.name}, the front end gives {have.name}", where=name, code="FRONTEND")
