# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: 4 rows by 4 columns at a time."""

from __future__ import annotations

from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.kernel_kit.matmul_float32 import MatMulFloat32, product_spec

from .float32 import FEATURES


def _few_columns(view: NodeView) -> str:
    columns = view.outputs[0].dims[-1]
    return "" if columns >= 4 else f"{columns} columns, wants at least 4"


@kernel("MatMul", product_spec(FEATURES, Predicate("at least 4 columns", _few_columns)))
class CortexmMatMulFloat32(MatMulFloat32):
    function, source = "aidge_cortexm_matmul_float32", "matmul_float32.h"
    kind, at_once = "aidge_cortexm_product_float32", "4 rows x 4 columns"
