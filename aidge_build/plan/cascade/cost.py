# SPDX-License-Identifier: MIT
"""The cost of a cascade: estimated instructions in addition to its layers as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.plan.cascade.cascade import Work
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.cascade.row_layer import RowLayer

# Measured instructions: PER_STEP without its call, on a Cortex-M55. PER_CALL and PER_BYTE_READ_AGAIN on a Cortex-M4, for kernels
# that do not state their instructions: a byte of rows that an earlier band also read. A moved byte: by words, by vectors.
PER_STEP, PER_CALL, PER_BYTE_READ_AGAIN = 45, 200, 1.8
PER_MOVED_BYTE, PER_BYTE_OF_VECTORS = 0.8, 0.25


def beyond(work: Work, layers: Sequence[RowLayer], kernels: BandKernels) -> float:
    """Returns the estimated instructions in addition to whole layers: as the kernels of the layers state them, or the measured
    ones if they do not."""
    per_byte = PER_BYTE_OF_VECTORS if "mve" in kernels.target.features else PER_MOVED_BYTE
    found = per_byte * work.shifted_bytes + PER_CALL * work.waits  # rows that come or go cost a call, too
    for layer in layers:
        bands = work.bands[layer.name]
        known = kernels.instructions_beyond(layer, bands)
        if known is None:
            found += PER_CALL * (len(bands) - 1) + PER_BYTE_READ_AGAIN * work.bytes_read_again[layer.name]
        else:
            found += PER_STEP * len(bands) + known
    return found
