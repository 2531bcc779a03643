# SPDX-License-Identifier: MIT
"""Operators that copy stored values: they mean the same under every contract if the quantization stays."""

from __future__ import annotations

from aidge_build.base.errors import AidgeError
from aidge_build.operators.binary import Max, Min, Where
from aidge_build.operators.flip_sign import FlipSign
from aidge_build.operators.kinds import Moved
from aidge_build.operators.meanings import means
from aidge_build.operators.pool import GlobalMaxPooling, MaxPooling
from aidge_build.operators.reduce import ReduceMax, ReduceMin
from aidge_build.operators.reformat import Reformat
from aidge_build.operators.restated import Restated
from aidge_build.operators.table import Table
from aidge_build.operators.view import View


@means(View, Moved, MaxPooling, GlobalMaxPooling, Max, Min, ReduceMax, ReduceMin, Where)
def moved(operator, values, inputs, outputs):
    """Returns the copied values. Stored values have the order of the real numbers, so Max and Min copy, too."""
    quantizations = {tensor.quantization for tensor in (*inputs, *outputs) if tensor is not None and not tensor.is_constant}
    if len(quantizations - {None}) > 1:
        raise AidgeError(
            f"{operator.type} between two quantizations has no meaning under the contract tflite",
            code="ROUNDING",
        )
    return operator.forward_quantized(values, inputs, outputs)


@means(Reformat, FlipSign, Restated, Table)
def _restated(operator, values, inputs, outputs):
    return operator.forward_quantized(values, inputs, outputs)
