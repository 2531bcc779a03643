# SPDX-License-Identifier: MIT
"""float32 softmax and its logarithm: the exponential function as a polynomial, in the registers of the FPU."""

from __future__ import annotations

import math
from dataclasses import replace

from aidge_build.contract.call import Call, Literal
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.rows import ALONG_ONE_AXIS, softmax_specs
from aidge_build.contract.kernel_kit.softmax_float32 import SoftmaxFloat32
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.float32 import FEATURES


@kernel("Softmax", softmax_specs(DType.float32, REAL, features=FEATURES))
class CortexmSoftmax(SoftmaxFloat32):
    function, source = "aidge_cortexm_softmax_float32", "rows/softmax_float32.h"

    def call(self) -> Call:
        """Rows of neighbours have a function of their own."""
        found = super().call()
        *others, inner = found.arguments
        if inner != Literal(1):
            return found
        return replace(found, function="aidge_cortexm_softmax_rows_float32", arguments=tuple(others))


def _apart(view: NodeView) -> str:
    (output,) = view.outputs
    return "the values of a row are not adjacent" if math.prod(output.dims[view.operator.axis % output.rank + 1 :]) != 1 else ""


# Row-major: elsewhere the storage order, and with it where a row lies, is decided after the kernel.
_SIDE = IOSpec(DType.float32, ROW_MAJOR)
_PREDICATES = (REAL, ALONG_ONE_AXIS, Predicate("rows of neighbours", _apart))


@kernel("LogSoftmax", ImplSpec(_SIDE, predicates=_PREDICATES, features=FEATURES))
class CortexmLogSoftmax(SoftmaxFloat32):
    function, source = "aidge_cortexm_log_softmax_float32", "rows/softmax_float32.h"

    def call(self) -> Call:
        found = super().call()
        return replace(found, arguments=found.arguments[:-1], steps=None)
