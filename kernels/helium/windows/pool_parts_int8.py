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

from ..core.conditions import MVE


class _InLibrary(Part):
    library, source = "helium", "windows/pool_parts.h"
    facts = computed("8 channels")


@taken(MVE)
class MeanPartInt8(_InLibrary, MeanPart):
    """Sums that decide their levels."""


@taken(MVE)
class MeanChainsInt8(_InLibrary, ChainedPart):
    """Sums of which some do not."""


@taken(MVE)
class AveragePartInt8(_InLibrary, AveragePart):
    """Divided by the number of values."""


@taken(MVE)
class HalvesUpPartInt8(_InLibrary, HalvesUpPart):
    """The same of tensors that were uint8."""


@taken(MVE)
class FixedMeanPartInt8(_InLibrary, FixedMeanPart):
    """Multiplied by one factor."""


@taken(MVE)
class MaxPartInt8(_InLibrary, MaximumPart):
    """The largest values."""
