# SPDX-License-Identifier: MIT
"""The steps from a camera's pixels to a network's input: a part of the image, another size, gray, normalised numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.prepare.frontend.part import Host, Part, sizes_of
from aidge_build.prepare.frontend.reals import Reals, quantization_of
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format import write_model

GRAY = (38, 75, 15)  # of 128: the shares of red, green and blue in the brightness (ITU-R BT.601)
MODES = ("linear", "nearest")


def _refuse(what: str, hint: str = "") -> AidgeError:
    return AidgeError(what, code="FRONTEND", hint=hint)


@dataclass(frozen=True)
class Pixels:
    """The conversion of images [height, width, channels], uint8, to a network's input.

    `crop` is a part of them (top, left, height, width), `size` the height and width after that, by `mode`; `gray` makes one
    channel of red, green and blue: (38 r + 75 g + 15 b) / 128. Each of these gives uint8 again, rounded. The network reads
    (pixel / 255 - mean) / deviation, with one number or one for each channel that is left.
    """

    height: int
    width: int
    channels: int = 3
    crop: tuple[int, int, int, int] | None = None
    size: tuple[int, int] | None = None
    mode: str = "linear"
    gray: bool = False
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    def __post_init__(self):
        top, left, height, width = self.part
        inside = 0 <= top and 0 <= left and 0 < height <= self.height - top and 0 < width <= self.width - left
        if not (inside and self.channels > 0 and min(self.size or (1, 1)) > 0):
            raise _refuse(f"crop {self.crop} and size {self.size} of {self.height} x {self.width} pixels")
        if self.mode not in MODES:
            raise _refuse(f"mode is {self.mode!r}", f"known are {', '.join(MODES)}")
        if self.gray and self.channels != 3:
            raise _refuse(f"{self.channels} channels are no red, green and blue")
        for numbers in (self.mean, self.deviation):
            if len(numbers) not in (1, self.result[0]):
                raise _refuse(f"{len(numbers)} numbers for {self.result[0]} channels")
        if not all(number > 0 for number in self.deviation):
            raise _refuse(f"deviations of {self.deviation}")

    @property
    def part(self) -> tuple[int, int, int, int]:
        """Top, left, height and width of the used part of the image."""
        return self.crop or (0, 0, self.height, self.width)

    @property
    def result(self) -> tuple[int, int, int]:
        """Channels, height and width of the network's input."""
        return (1 if self.gray else self.channels, *(self.size or self.part[2:]))

    def pixels(self, images: numpy.ndarray) -> numpy.ndarray:
        """Returns uint8 [count, channels, height, width] of images [count, height, width, channels]: the bits of the firmware."""
        images = numpy.asarray(images)
        if images.dtype != numpy.uint8 or images.shape[1:] != (self.height, self.width, self.channels):
            wanted = [self.height, self.width, self.channels]
            raise _refuse(f"images of {images.dtype} {list(images.shape[1:])}, want uint8 {wanted}")
        part = Part("image")
        given = part.input("pixels", images.shape, DType.uint8)
        part.output(_pixels(part, self, given, len(images), True), "result", (len(images), *self.result), DType.uint8)
        view, _ = import_onnx(write_model(part.model()), "image", builtin_operators(), {}, {})
        execution = prepare(simplify(view))
        context = execution.forward(execution.context({}), {given: images})
        (name,) = view.outputs
        return context.hidden[name] if name in context.hidden else context.instances[name]

    def features(self, images: numpy.ndarray) -> numpy.ndarray:
        """Returns float32 [count, channels, height, width] of images [count, height, width, channels], normalised."""
        factor, offset = _line(self)
        return self.pixels(images) * factor.astype(numpy.float32) + offset.astype(numpy.float32)


def with_image(
    model: bytes,
    front: Pixels,
    *,
    layout: str = "nchw",
    input: str = "",
    name: str = "model.onnx",
    external: Mapping[str, bytes] | None = None,
) -> bytes:
    """The model's file with a camera's image as its input: `image_pixels`, uint8 [1, height, width, channels].

    The network's input is its only one, or `input`, float32 or stored, in this layout (`nchw` or `nhwc`). Before a quantized
    model everything up to the normalisation is computed on bytes. AidgeError if something does not fit.
    """
    host = Host(model, name, external or {})
    value = host.the("input", input)
    dims, (channels, height, width) = sizes_of(value), front.result
    wanted = {"nchw": (1, channels, height, width), "nhwc": (1, height, width, channels)}.get(layout)
    if dims != wanted:
        raise AidgeError(
            f"the input '{value.name}' has the dims {list(dims)}, the front end gives {list(wanted or ())} ({layout})",
            where=name,
            code="FRONTEND",
        )
    stored = quantization_of(host, value, "input")
    if stored is None and not value.dtype.is_float:
        raise AidgeError(f"nothing says what the stored input '{value.name}' means", where=name, code="FRONTEND")
    part = Part("image", host.names, host.opset)
    pixels = part.input("pixels", (1, front.height, front.width, front.channels), DType.uint8)
    is_stored = stored is not None
    found = _pixels(part, front, pixels, 1, is_stored)
    found = Reals(part, (1.0, 0, DType.uint8)).real(found) if is_stored else found
    factor, offset = _line(front)
    found = part.one("Mul", found, part.constant(factor, numpy.float32))
    found = part.one("Add", found, part.constant(offset, numpy.float32)) if offset.any() else found
    if stored is not None and not value.dtype.is_float:
        scale, point, dtype = stored
        found = part.one("QuantizeLinear", found, part.constant(scale, numpy.float32), part.constant(point, dtype.numpy))
    if layout == "nhwc":
        found = part.one("Transpose", found, perm=(0, 2, 3, 1))
    return part.before(host, {part.output(found, "features", dims, value.dtype): value.name})


def _line(front: Pixels) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the factor and the summand of a pixel: one number each, or [channels, 1, 1]."""
    deviation, mean = numpy.array(front.deviation), numpy.array(front.mean)
    lines = numpy.broadcast_arrays(1 / (255 * deviation), -mean / deviation)
    factor, offset = (line.reshape(()) if line.size == 1 else line.reshape(-1, 1, 1) for line in lines)
    return factor, offset


def _pixels(part: Part, front: Pixels, pixels: str, count: int, is_stored: bool) -> str:
    """Returns the pixels [count, channels, height, width] that are left: uint8 if `is_stored`, else float32."""
    on_reals = Reals(part, (1.0, 0, DType.uint8) if is_stored else None)
    found = pixels if is_stored else part.one("Cast", pixels, to=1)
    top, left, height, width = front.part
    if front.crop:
        ends = part.integers(top, left), part.integers(top + height, left + width), part.integers(1, 2)
        found = on_reals("Slice", found, lists=ends)
    found = on_reals("Transpose", found, perm=(0, 3, 1, 2))
    if front.size and front.size != (height, width):
        sizes = part.integers(count, front.channels, *front.size)
        words = {"coordinate_transformation_mode": "half_pixel", "mode": front.mode}
        words |= {"nearest_mode": "floor"} if front.mode == "nearest" else {}
        found = on_reals("Resize", found, lists=("", "", sizes), **words)
    if front.gray:
        shares = numpy.array(GRAY).reshape(1, 3, 1, 1)
        if is_stored:
            scale, point = part.constant(1 / 128, numpy.float32), part.constant(0, numpy.int8)
            weights = part.one("DequantizeLinear", part.constant(shares, numpy.int8), scale, point)
        else:
            weights = part.constant(shares / 128, numpy.float32)
        found = on_reals("Conv", found, lists=(weights,))
    return found
