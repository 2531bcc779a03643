# SPDX-License-Identifier: MIT
"""int8 means and maxima over the whole map that read their rows part by part."""

from __future__ import annotations

from aidge_build.contract.call import computed
from aidge_build.contract.kernel_kit.pool_parts import Part, parts

from ..core.conditions import FEATURES
from .pools import A_WORD_OF_CHANNELS


@parts(FEATURES, of_chains=frozenset({"fpu"}), of_maxima=(A_WORD_OF_CHANNELS,))
class PoolPartInt8(Part):
    library, source = "cortexm", "windows/pool_parts.h"
    facts = computed("4 channels")
