# SPDX-License-Identifier: MIT
"""int8 means and maxima over the whole map that read their rows part by part."""

from __future__ import annotations

from aidge_build.contract.call import computed
from aidge_build.contract.kernel_kit.pool_parts import (
    AveragePart,
    ChainedPart,
    FixedMeanPart,
    HalvesUpPart,
    MaximumPart,
    MeanPart,
    Part,
    taken,
)

from ..core.conditions import FEATURES
from .pools import A_WORD_OF_CHANNELS


class _InLibrary(Part):
    library, source = "cortexm", "windows/pool_parts.h"
    facts = computed("4 channels")


@taken(FEATURES)
class MeanPartInt8(_InLibrary, MeanPart):
    """Sums that decide their levels."""


@taken(FEATURES | {"fpu"})
class MeanChainsInt8(_InLibrary, ChainedPart):
    """Sums of which some do not."""


@taken(FEATURES)
class AveragePartInt8(_InLibrary, AveragePart):
    """Divided by the number of values."""


@taken(FEATURES)
class HalvesUpPartInt8(_InLibrary, HalvesUpPart):
    """The same of tensors that were uint8."""


@taken(FEATURES)
class FixedMeanPartInt8(_InLibrary, FixedMeanPart):
    """Multiplied by one factor."""


@taken(FEATURES, A_WORD_OF_CHANNELS)
class MaxPartInt8(_InLibrary, MaximumPart):
    """The largest values."""
