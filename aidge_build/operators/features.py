# SPDX-License-Identifier: MIT
"""Operators of ai.onnx.ml that prepare features: rows of [batch, features], or one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.attributes import attribute
from aidge_build.operators.base import require
from aidge_build.operators.kinds import ElementWise, Unary
from aidge_build.operators.listed import Listed
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


def require_columns(dims: tuple[int, ...], **lists: Sequence) -> None:
    """Refuses lists that have neither one number nor one number for each feature."""
    for name, values in lists.items():
        columns = dims[-1] if dims else 1
        fits = len(values) == 1 or (len(values) == columns and len(dims) <= 2)
        require(fits, f"{name} has {len(values)} numbers, the input {list(dims)} wants 1 or {columns}")


@operator("ai.onnx.ml::Scaler")
class Scaler(Unary):
    """y = (x - offset) * scale, with one number or one for each feature. Source: ONNX operator Scaler of ai.onnx.ml."""

    # Not element-wise: what becomes of an element depends on its column, so there is no table of its values.

    features: ClassVar[DType] = DType.float32

    offset: Listed = Listed((0.0,))
    scale: Listed = Listed((1.0,))

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("offset", "scale")
        return cls(Listed(source.reals("offset", (0.0,))), Listed(source.reals("scale", (1.0,))))

    def infer(self, inputs):
        require_columns(inputs[0].dims, offset=self.offset, scale=self.scale)
        return super().infer(inputs)

    def forward(self, data):
        return (data - self.offset.array()) * self.scale.array()

    def backward(self, gradients, inputs, outputs):
        return (gradients[0] * self.scale.array(),)

    def takes_over(self, inputs, outputs):
        return (0,)

    @classmethod
    def samples(cls):
        return (
            Sample(cls(Listed((0.5, -1.0, 2.0)), Listed((2.0, 0.25, -1.0))), (numbers(2, 3),)),
            Sample(cls(Listed((0.5,)), Listed((3.0,))), (numbers(4),)),
        )


@operator("ai.onnx.ml::Normalizer")
class Normalizer(Unary):
    """Each row divided by its largest element (MAX), by the sum of magnitudes (L1), or by its length (L2); a row with the
    divisor 0 stays. Source: ONNX operator Normalizer of ai.onnx.ml; MAX as onnxruntime, which takes no magnitudes."""

    features: ClassVar[DType] = DType.float32

    norm: str = attribute("MAX", among=("MAX", "L1", "L2"))

    def infer(self, inputs):
        require(1 <= inputs[0].rank <= 2, f"the input has the dims {list(inputs[0].dims)}, wants one or two")
        return super().infer(inputs)

    def forward(self, data):
        if self.norm == "MAX":
            divisor = data.max(-1, keepdims=True)
        elif self.norm == "L1":
            divisor = numpy.abs(data).sum(-1, keepdims=True)
        else:
            divisor = numpy.sqrt((data * data).sum(-1, keepdims=True))
        return data / numpy.where(divisor == 0, 1, divisor)

    def takes_over(self, inputs, outputs):
        return (0,)

    @classmethod
    def examples(cls):
        return tuple(cls(norm) for norm in ("MAX", "L1", "L2"))

    @classmethod
    def samples(cls):
        return tuple(Sample(one, (numbers(2, 3),)) for one in cls.examples())


@operator("ai.onnx.ml::Imputer")
class Imputer(Unary):
    """An element that equals `replaced` (NaN equals NaN) becomes `imputed`: one number or one for each feature.

    Source: ONNX operator Imputer of ai.onnx.ml.
    """

    imputed: Listed = Listed((0.0,))
    replaced: float | int = 0.0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("imputed_value_floats", "imputed_value_int64s", "replaced_value_float", "replaced_value_int64")
        if source.input(0).dtype.is_float:
            return cls(Listed(source.reals("imputed_value_floats")), source.real("replaced_value_float", 0.0))
        return cls(Listed(source.integers("imputed_value_int64s")), source.integer("replaced_value_int64", 0))

    def infer(self, inputs):
        require_columns(inputs[0].dims, imputed=self.imputed)
        return super().infer(inputs)

    def forward(self, data):
        gaps = numpy.isnan(data) if self.replaced != self.replaced else data == self.replaced
        return numpy.where(gaps, numpy.array(self.imputed, data.dtype), data)

    def takes_over(self, inputs, outputs):
        return (0,)

    @classmethod
    def samples(cls):
        gaps = numbers(2, 3)
        gaps[0, 1] = gaps[1, 2] = 9.0
        return (
            Sample(cls(Listed((5, 6)), -1), (numpy.array([[-1, 3], [7, -1]]),)),
            Sample(cls(Listed((0.5, 0.25, 0.125)), 9.0), (gaps,)),
        )


@operator("ai.onnx.ml::Binarizer")
class Binarizer(ElementWise):
    """1 for an element above the threshold, else 0. Source: ONNX operator Binarizer of ai.onnx.ml."""

    threshold: float = attribute(0.0)

    def forward(self, data):
        return (data > self.threshold).astype(data.dtype)

    @classmethod
    def examples(cls):
        return cls(), cls(0.5)


@operator("ai.onnx.ml::FeatureVectorizer")
class FeatureVectorizer(Concat):
    """The inputs one after another along the features; it becomes a Concat.

    Source: ONNX operator FeatureVectorizer of ai.onnx.ml.
    """

    features: ClassVar[DType] = DType.float32

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("inputdimensions")
        dims = [source.input(index).dims for index in range(len(source.input_names))]
        wanted = source.integers("inputdimensions", tuple(one[-1] if one else 1 for one in dims))
        for one, columns in zip(dims, wanted):
            require(len(one) == 2 and one[1] == columns, f"an input has the dims {list(one)}, wants [batch, {columns}]")
        require(len(wanted) == len(dims), f"{len(dims)} inputs, but {len(wanted)} inputdimensions")
        return Concat(1)
