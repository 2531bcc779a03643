# SPDX-License-Identifier: MIT
"""int8 means and maxima over the whole map that read their rows part by part."""

from __future__ import annotations

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


class _InLibrary(Part):
    library, source = "ref", "int8/pool_parts.h"


@taken()
class MeanPartInt8(_InLibrary, MeanPart):
    """Sums that decide their levels."""


@taken()
class MeanChainsInt8(_InLibrary, ChainedPart):
    """Sums of which some do not."""


@taken()
class AveragePartInt8(_InLibrary, AveragePart):
    """Divided by the number of values."""


@taken()
class HalvesUpPartInt8(_InLibrary, HalvesUpPart):
    """The same of tensors that were uint8."""


@taken()
class FixedMeanPartInt8(_InLibrary, FixedMeanPart):
    """Multiplied by one factor."""


@taken()
class MaxPartInt8(_InLibrary, MaximumPart):
    """The largest values."""
