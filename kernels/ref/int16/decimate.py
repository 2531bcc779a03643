# SPDX-License-Identifier: MIT
"""Every n-th result of a filter of int16 samples."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Output, Struct
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

_HALFWORDS = IOSpec(DType.int16, ROW_MAJOR)


@kernel("Decimate", ImplSpec((_HALFWORDS, IOSpec(DType.int16, ANY)), (_HALFWORDS,), (REAL, CONSTANT_PARAMETERS)))
class Decimate(KernelNode):
    def call(self) -> Call:
        (rows, samples), taps = self.inputs[0].dims, self.inputs[1].data
        sizes = {"rows": rows, "samples": samples, "results": self.outputs[0].dims[1], "step": self.operator.step}
        return Call(
            "aidge_ref_decimate_int16",
            ("int16/decimate.h",),
            (Input(0), Output(0), Constant("taps", taps), Struct("aidge_ref_decimate_shape", sizes | {"taps": taps.size})),
        )
