# SPDX-License-Identifier: MIT
"""int8 means and maxima over the whole map that read their rows part by part."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.pool_parts import Part, parts


@parts()
class PoolPartInt8(Part):
    library, source = "ref", "int8/pool_parts.h"
