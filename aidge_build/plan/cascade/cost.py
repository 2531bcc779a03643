# SPDX-License-Identifier: MIT
"""What a cascade costs: instructions beyond those of its layers as a whole, estimated."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.plan.cascade.cascade import Work
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.cascade.row_layer import RowLayer

# Measured: of a step beside its call, on a Cortex-M55; on a Cortex-M4 of a call of a kernel that does not say what it takes, of a
# byte of rows that such a kernel gathers anew though a band before saw them; of a byte that moves, by words and by vectors.
PER_STEP, PER_CALL, PER_BYTE_READ_AGAIN = 45, 200, 1.8
PER_MOVED_BYTE, PER_BYTE_OF_VECTORS = 0.8, 0.25


def beyond(work: Work, layers: Sequence[RowLayer], kernels: BandKernels) -> float:
    """Estimated instructions beyond those of whole layers: as the kernels of the layers say, or as usual where they do not."""
    per_byte = PER_BYTE_OF_VECTORS if "mve" in kernels.target.features else PER_MOVED_BYTE
    found = per_byte * work.shifted_bytes + PER_CALL * work.waits  # rows that come or go, too, have their price
    for layer in layers:
        bands = work.bands[layer.name]
        known = kernels.instructions_beyond(layer, bands)
        if known is None:
            found += PER_CALL * (len(bands) - 1) + PER_BYTE_READ_AGAIN * work.bytes_read_again[layer.name]
        else:
            found += PER_STEP * len(bands) + known
    return found
