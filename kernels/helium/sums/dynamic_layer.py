# SPDX-License-Identifier: MIT
"""Layers of dynamic quantization, and those of stored bytes behind which nothing is quantized: results in float32."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Output, Scratch, computed
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.dynamic import DEPTHWISE, data_arguments, dynamic_spec, is_signed
from aidge_build.contract.kernel_kit.terms import plus
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, Demands, NodeView, Predicate
from aidge_build.operators.dynamic import DATA, WEIGHTS

from ..core import floats
from ..core.conditions import MVE
from ..core.finer import BYTES_APART, in_bytes
from ..core.floats import FloatNumbers, Floats
from ..core.geometry import Geometry, of_image
from ..core.packed import UNSIGNED, bits_of_weights, of_pairs
from ..core.staging import Staging
from ..windows import float_strips
from ..windows.depthwise import LANES, Depthwise
from ..windows.depthwise_int8 import SMALL_WINDOW, driver_of
from ..windows.float_strips import FloatStrips
from .conv2d_int8 import FEW_DILATED_TAPS
from .dense_float import DenseFloat
from .driver import Driver
from .plan import PIXELS, Plan
from .plan_choice import plan_of
from .product import HEAD_BYTES
from .stream import float_stream

FEWEST_OUTPUTS = 2
FEWEST_UNDER_SIZE = 4096  # weights of a row that is computed for eight outputs at once: the text is longer by up to 500 bytes
FEWEST_PIXELS = 16  # for which numbers are prepared: they take an eighth of the result's bytes then


class DynamicDriver(Driver):
    """The same with numbers of run time."""

    pad = floats.PAD

    @property
    def begin(self) -> tuple[str, ...]:
        form = self.plan.product
        if not form.floats.prepared:
            return floats.BEGIN
        return (
            *floats.BEGIN,
            f"int32_t *const prepared = {plus('(int32_t *)scratch', self.plan.prepared_begins // 4)};",
            f"aidge_helium_prepare(stream + {HEAD_BYTES + form.window_bytes * form.offsets}, {form.pair_bytes}, prepared, data);",
        )

    @property
    def further(self) -> str:
        return ", prepared" if self.plan.product.floats.prepared else floats.FURTHER

    @property
    def parameters(self) -> str:
        return self.plan.product.floats.of_driver

    @property
    def name(self) -> str:
        form, name = self.plan.product.floats, super().name.replace("_conv_", "_dynamic_conv_", 1)
        return name.replace("_offsets", "") + form.name

    @property
    def note(self) -> str:
        return super().note.replace("requantized in float", "scaled to float")

    @property
    def sources(self) -> tuple[str, ...]:
        return "sums/dynamic.h", *super().sources[1:]

    def of_data(self, data: tuple[Argument, ...], stream: numpy.ndarray) -> Call:
        """`data`: the arguments that the layer has instead of its data alone."""
        made = self.call(stream)
        return replace(made, arguments=(*data, *made.arguments[1:]))

    @property
    def facts(self) -> dict[str, str]:
        return computed(f"{PIXELS} pixels x 2 channels")


def _stored(weights: numpy.ndarray, missing: int) -> numpy.ndarray:
    """As they are multiplied with, `missing` larger than they are."""
    return (in_bytes(weights).astype(numpy.int16) + missing).astype(numpy.uint8 if missing else numpy.int8)


def _floats_of(view: NodeView) -> Floats:
    return Floats((view.operator.minimum, view.operator.maximum), is_signed(view.inputs))


class DynamicLayer(KernelNode):
    @classmethod
    def geometry(cls, view: NodeView) -> Geometry:
        raise NotImplementedError

    @classmethod
    def plan(cls, view: NodeView) -> Plan:
        plan, form = plan_of(cls.geometry(view), False, True), _floats_of(view)
        shape, pairs = plan.geometry, plan.geometry.outputs // 2 + plan.geometry.outputs % 2
        is_prepared = shape.batches * shape.out_height * shape.out_width >= FEWEST_PIXELS
        return replace(
            plan,
            product=replace(plan.product, floats=replace(form, prepared=is_prepared)),
            prepared=floats.PREPARED_BYTES * pairs if is_prepared else 0,
        )

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=cls.plan(view).scratch_bytes)

    def call(self) -> Call:
        plan, weights = self.plan(self.view), self.inputs[WEIGHTS].data
        shape, form = plan.geometry, plan.product
        packed = of_pairs(self.view, in_bytes(weights), form.rows * form.taps * form.vectors, form.floats.signed)
        form = replace(form, packed=packed)
        missing = UNSIGNED if packed and form.floats.missing else form.floats.missing
        taps = _stored(weights, missing).reshape(shape.outputs, shape.channels, shape.kernel_height, shape.kernel_width)
        windows = taps.transpose(0, 3, 2, 1) if plan.columns else taps.transpose(0, 2, 3, 1)
        numbers = FloatNumbers.of(self.inputs, weights, missing)
        stream = float_stream(form, windows.reshape(shape.outputs, form.rows, form.taps, -1), numbers)
        return DynamicDriver(replace(plan, product=form), plan.geometry).of_data(data_arguments(self.inputs), stream)


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, MVE, FEWEST_OUTPUTS, ONE_GROUP, FEW_DILATED_TAPS, BYTES_APART))
class DynamicConv(DynamicLayer):
    @classmethod
    def geometry(cls, view: NodeView) -> Geometry:
        return of_image(view)


def _several_rows(view: NodeView) -> str:
    rows, weights = math.prod(view.inputs[DATA].dims[:-1]), view.inputs[WEIGHTS]
    if rows > 1:
        return f"{rows} rows"
    few = view.objective == "size" and weights.elements < FEWEST_UNDER_SIZE
    return f"{weights.elements} weights, wants {FEWEST_UNDER_SIZE} under --optimize size" if few else ""


def _packed_bits(view: NodeView) -> str:
    bits = bits_of_weights(view, view.inputs[WEIGHTS].data)
    return f"weights of {bits} bits share bytes" if bits < 8 else ""


ONE_ROW = Predicate("one row", _several_rows)
WHOLE_BYTES = Predicate("weights of whole bytes", _packed_bits)


@kernel("DynamicFC", dynamic_spec(ROW_MAJOR, MVE, FEWEST_OUTPUTS, BYTES_APART, ONE_ROW, WHOLE_BYTES))
class DynamicRow(KernelNode):
    def call(self) -> Call:
        weights, floats = self.inputs[WEIGHTS].data, _floats_of(self.view)
        form = DenseFloat(weights.shape[1], weights.shape[0], floats)
        name, texts = form.texts()
        stream = form.stream(_stored(weights, floats.missing), FloatNumbers.of(self.inputs, weights, floats.missing))
        arguments = (*data_arguments(self.inputs), Output(0), Constant("stream", stream))
        note, facts = "8 outputs at a time, scaled to float", computed("1 row x 8 outputs")
        return Call(name, ("sums/dynamic_data.h",), arguments, note, texts, facts=facts)


@kernel("DynamicFC", dynamic_spec(ROW_MAJOR, MVE, FEWEST_OUTPUTS, BYTES_APART))
class DynamicFC(DynamicLayer):
    @classmethod
    def geometry(cls, view: NodeView) -> Geometry:
        data, output = view.inputs[DATA], view.outputs[0]
        rows = math.prod(data.dims[:-1])
        return Geometry(1, 1, rows, data.dims[-1], 1, rows, output.dims[-1], 1, 1, 1, 1, 1, 1, 0, 0)


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, MVE, FEWEST_OUTPUTS, DEPTHWISE, SMALL_WINDOW))
class DynamicDepthwise(KernelNode):
    """One channel at a time where that takes fewer instructions, and weights are bytes; else channels in lanes."""

    @staticmethod
    def strips(view: NodeView) -> FloatStrips | None:
        shape = of_image(view)
        if view.layer is not None:
            return None
        best = FloatStrips.of(shape, _floats_of(view), view.inputs[WEIGHTS].data)
        return best if best and best.instructions * shape.batches < Depthwise.float_instructions_for(shape) else None

    @staticmethod
    def staging(view: NodeView) -> Staging | None:
        """Copies of rows, unless the input can be read where it is."""
        shape = of_image(view)
        return None if shape.stays_inside and shape.channels % LANES == 0 else Staging.of(shape)

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        strips, staging = cls.strips(view), cls.staging(view)
        return Demands(scratch_bytes=strips.bytes if strips else staging.bytes if staging else 0)

    def call(self) -> Call:
        strips = self.strips(self.view)
        return self._by_strips(strips) if strips else self._by_lanes()

    def _by_strips(self, form: FloatStrips) -> Call:
        name, texts = float_strips.texts_of(form)
        weights = self.inputs[WEIGHTS].data
        stream = form.float_stream(weights, FloatNumbers.of(self.inputs, weights, 0))
        arguments = (*data_arguments(self.inputs), Output(0), Constant("stream", stream), Scratch())
        return Call(
            name,
            ("sums/dynamic_data.h", "core/copies.h"),
            arguments,
            form.description,
            texts,
            facts=computed("8 pixels x 1 channel"),
        )

    def _by_lanes(self) -> Call:
        shape, staging, weights = of_image(self.view), self.staging(self.view), self.inputs[WEIGHTS].data
        form = Depthwise(
            shape.channels,
            shape.kernel_height,
            shape.kernel_width,
            shape.dilation_width * shape.channels,
            shape.stride_width * shape.channels,
            wide=True,
            floats=_floats_of(self.view),
        )
        name = form.name.replace("_depthwise_", f"_lanes_{shape.name}_", 1)
        stream = Constant("stream", form.float_stream(weights, FloatNumbers.of(self.inputs, weights, form.floats.missing)))
        return Call(
            name,
            ("sums/dynamic_data.h", *(("core/ring.h",) if staging else ())),
            (*data_arguments(self.inputs), Output(0), stream, *((Scratch(),) if staging else ())),
            "16 channels in lanes, scaled to float",
            (form.text(), driver_of(name, shape, form, staging)),
            facts=computed("1 pixel x 16 channels"),
        )
