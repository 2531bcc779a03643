# SPDX-License-Identifier: MIT
"""int8 means and maxima over the whole map that read their rows part by part."""

from __future__ import annotations

from aidge_build.contract.call import computed
from aidge_build.contract.kernel_kit.pool_parts import Part, parts

from ..core.conditions import MVE


@parts(MVE)
class PoolPartInt8(Part):
    library, source = "helium", "windows/pool_parts.h"
    facts = computed("8 channels")
