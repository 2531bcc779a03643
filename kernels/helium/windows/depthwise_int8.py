# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.boards.cores import OVERLAPPING
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, computed
from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS
from aidge_build.contract.kernel_kit.following import following
from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.requantize import clamp_levels

from ..core import floats
from ..core.assembly import c_function, loop
from ..core.conditions import linear_spec
from ..core.finer import are_two_bytes, numbers_of, shifted
from ..core.geometry import Geometry, geometry_of, of_band, of_image
from ..core.rounding import fixed_of, rounds_by_addition
from ..core.staging import Staging
from ..sums.driver import PARAMETERS
from . import series_text, strips_text
from .depthwise import LANES, Depthwise
from .series import Series
from .strips import Strips

MOST_ROWS, MOST_TAPS = 7, 128


def _large_window(view: NodeView) -> str:
    shape = geometry_of(view)
    fits = shape.kernel_height <= MOST_ROWS and shape.kernel_height * shape.kernel_width <= MOST_TAPS
    return "" if fits else f"a window of {shape.kernel_height} x {shape.kernel_width} taps"


def is_wide(weights: numpy.ndarray) -> bool:
    """Whether weights are multiplied as halfwords: they are no bytes, or two products of neighbouring taps, of -128 and -128
    each, are one more than 16 bits hold."""
    taps = shifted(weights).reshape(len(weights), -1)
    if taps.min(initial=0) < -128 or taps.max(initial=0) > 127:
        return True
    first, second = (taps[:, start : taps.shape[1] - taps.shape[1] % 2 : 2] == -128 for start in (0, 1))
    return bool((first & second).any())


SMALL_WINDOW = Predicate(f"a window of at most {MOST_ROWS} rows and {MOST_TAPS} taps", _large_window)


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec("channels_last", SMALL_WINDOW, weights=BYTES_OR_HALFWORDS))
class ConvDepthwise2dInt8(KernelNode):
    @staticmethod
    def geometry(view: NodeView) -> Geometry:
        return geometry_of(view)

    @classmethod
    def staging(cls, view: NodeView) -> Staging | None:
        """Copies of rows, unless the input can be read where it is."""
        shape = cls.geometry(view)
        return None if shape.stays_inside and shape.channels % LANES == 0 else Staging.of(shape)

    @classmethod
    def form(cls, view: NodeView) -> Strips | Series | None:
        """One channel at a time where that takes fewer instructions than channels in lanes."""
        shape, clamps = cls.geometry(view), _clamps(view)
        taps = shifted(view.inputs[1].data)
        if not are_two_bytes(taps):
            return None
        halves = bool(taps.min(initial=0) < -128 or taps.max(initial=0) > 127)
        if shape.bands:
            form = Strips.of_bands(shape, clamps, halves) if _sees_rows(of_image(view.layer.whole, is_upright=True)) else None
            rows = shape.out_height
            return form if form and form.instructions_of_rows(rows) < cls._instructions_of_lanes(view, rows) else None
        found = [Strips.best(shape, clamps, halves), *([] if halves else [Series.of(shape, clamps)])]
        form = min(filter(None, found), key=lambda form: form.instructions, default=None)
        return form if form and form.instructions < Depthwise.instructions_for(shape) else None

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        form = cls.form(view)
        if form and form.shape.bands:
            return Demands(scratch_bytes=form.bytes, instructions=form.instructions_of_rows(of_band(view).out_height))
        if form:
            in_place = (0,) if form.works_in_place else ()
            return Demands(scratch_bytes=form.bytes, in_place=in_place, instructions=form.instructions)
        return replace(cls._demands_of_lanes(view), instructions=cls._instructions_of_lanes(view, of_band(view).out_height))

    @classmethod
    def _demands_of_lanes(cls, view: NodeView) -> Demands:
        shape, staging, (output,) = cls.geometry(view), cls.staging(view), view.outputs
        if shape.bands:
            return Demands(scratch_bytes=staging.bytes if staging else 0)
        if staging is None:
            return convolution_demands(view)
        # Rows that are in scratch before a row is written, from the first that it sees; the others are copied again.
        ahead = shape.kernel_height if shape.dilation_height == 1 else shape.stride_height
        steps = shape.row_steps([(row + 1, row * shape.stride_height - shape.top + ahead) for row in range(shape.out_height)])
        return following(steps, output, staging.bytes)

    @classmethod
    def _instructions_of_lanes(cls, view: NodeView, rows: int) -> int:
        """The instructions of a call for so many rows, nearly. Each call copies again what its first row of the output sees."""
        shape, staging = replace(cls.geometry(view), out_height=rows), cls.staging(view)
        copied = 0 if staging is None else staging.bytes // 8 + staging.geometry.kernel_height * (18 + staging.copied // 8)
        return 60 + copied + Depthwise.instructions_for(shape)

    def call(self) -> Call:
        shape = self.geometry(self.view)
        taps = self.inputs[1].data.reshape(shape.channels, shape.kernel_height, shape.kernel_width)
        numbers, bits = numbers_of(self, taps.reshape(shape.channels, -1))
        taps, found = shifted(taps), self.form(self.view)
        if found is None:
            return self._by_lanes(shape, taps, numbers, bits)
        form = replace(found, adds=rounds_by_addition(numbers, bits), bits=bits, fixed=fixed_of(numbers, bits))
        form = replace(form, overlaps=form.may_overlap and OVERLAPPING in self.view.features and self.view.objective != "size")
        if isinstance(form, Series):
            return self._by_channels(form, form.stream(taps.astype(numpy.int8), numbers))
        fused = form.fused_numbers(numbers, shape.times)
        form = form if fused is None else replace(form, fused=True, fixed=None)
        return self._by_channels(form, form.stream(taps, numbers, fused))

    def _by_channels(self, form: Strips | Series, stream: numpy.ndarray) -> Call:
        in_bands, image = form.shape.bands is not None, of_band(self.view)
        name, texts = strips_text.bands_texts(form) if in_bands else _all_images(form)
        rows = map(Literal, (image.in_height, image.top, image.out_height) if in_bands else ())
        return Call(
            name,
            ("windows/strips_of_bands.h" if in_bands else "core/copies.h",),
            (Input(0), Output(0), Constant("stream", stream), Scratch(), *rows),
            form.description,
            texts,
            facts=computed("8 pixels x 1 channel", 0, otherwise="fixed point" if form.fixed else "float"),
        )

    def _by_lanes(self, shape: Geometry, taps: numpy.ndarray, numbers: LinearConstants, bits: int) -> Call:
        form = Depthwise(
            shape.channels,
            shape.kernel_height,
            shape.kernel_width,
            shape.dilation_width * shape.channels,
            shape.stride_width * shape.channels,
            numbers.clamps,
            rounds_by_addition(numbers, bits),
            bits,
            fixed_of(numbers, bits),
            is_wide(taps),
        )
        staging, image = self.staging(self.view), of_band(self.view)
        name = form.name.replace("_depthwise_", f"_lanes_{shape.name}_", 1)
        arguments = (Input(0), Output(0), Constant("stream", form.stream(taps, numbers)), *((Scratch(),) if staging else ()))
        if shape.bands:
            arguments += (staging.struct(image), Literal(image.top)) if staging else ()
            arguments += (Literal(image.out_height),) if shape.out_height > 1 else ()
        sources = ("core/helium.h", *(("core/ring.h",) if staging else ()))
        return Call(
            name,
            sources,
            arguments,
            f"16 channels in lanes, requantized in {'fixed point' if form.fixed else 'float'}",
            (form.text(), driver_of(name, shape, form, staging)),
            facts=computed("1 pixel x 16 channels", 0, otherwise="fixed point" if form.fixed else "float"),
        )


def _all_images(form: Strips | Series) -> tuple[str, tuple[str, ...]]:
    """The function for all images, and the C texts that it needs."""
    shape, is_series = form.shape, isinstance(form, Series)
    text = series_text.text_of(form) if is_series else strips_text.text_of(form)
    if is_series and form.is_all:
        return form.name, (text,)
    name, scratch = f"{form.name}_all", "scratch" if is_series else "(int8_t *)scratch, places"
    body = [
        *([] if is_series else strips_text.places_lines(form.places)),
        "int32_t batch;",
        *([f"aidge_helium_fill((int8_t *)scratch, stream[0], {form.bytes});"] if not is_series or form.sees_pads else []),
        *loop(
            "batch",
            shape.batches,
            [
                f"{form.name}(x, y, stream, {scratch});",
                f"x += {shape.in_height * shape.in_width * shape.channels};",
                f"y += {shape.out_height * shape.out_width * shape.channels};",
            ],
        ),
    ]
    return name, (text, c_function(name, "const int8_t *x, int8_t *y, const int8_t *stream, void *scratch", body))


def _sees_rows(shape: Geometry) -> bool:
    """Whether each row of the output sees a row of the input."""
    return shape.top < shape.kernel_height and (shape.out_height - 1) * shape.stride_height - shape.top < shape.in_height


def _clamps(view: NodeView) -> bool:
    (output,) = view.outputs
    return clamp_levels(view.operator.minimum, view.operator.maximum, output.quantization, output.dtype) != output.dtype.range


def driver_of(name: str, shape: Geometry, form: Depthwise, staging: Staging | None) -> str:
    """The C text of a function for all rows of all images."""
    pad, further, first = (floats.PAD, floats.FURTHER, form.floats.of_driver) if form.floats else ("stream[0]", "", PARAMETERS)
    in_row = shape.in_width * shape.channels
    rows = shape.kernel_height
    if staging:
        head = staging.lines(pad)
        top, staged = ("top", "staged") if shape.bands else (shape.top, "&staged")
        inner = [f"aidge_helium_ring(x, rows, pointers, row, {shape.stride_height}, {top}, {pad}, {staged});"]
    else:
        head = []
        inner = [
            f"pointers[{row}] = x + row * {shape.stride_height * in_row} + {row * shape.dilation_height * in_row};"
            for row in range(rows)
        ]
    inner += [f"{form.name}(pointers, y, stream, {shape.out_width}{further});", f"y += {shape.out_width * shape.channels};"]
    body = [
        *(floats.BEGIN if form.floats else ()),
        f"const int8_t *pointers[{rows}];",
        "int32_t batch, row;",
        *head,
    ]
    parameters = [first, *(["void *scratch"] if staging else [])]
    height: int | str = shape.out_height
    if shape.bands:
        parameters += ["const aidge_helium_rows_shape *staged, int32_t top"] if staging else []
        parameters += ["int32_t out_height"] if shape.out_height > 1 else []
        height = "out_height" if shape.out_height > 1 else 1
    body += loop("batch", shape.batches, [*loop("row", height, inner), f"x += {shape.in_height * in_row};"])
    return c_function(name, ", ".join(parameters), body)
