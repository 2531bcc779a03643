# SPDX-License-Identifier: MIT
"""Weights in the order in which the kernels read them, and the shape of a fully connected layer."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Struct

BLOCK = 4  # output channels that share the loads of the input


def blocked(rows: numpy.ndarray, groups: int = 1) -> numpy.ndarray:
    """`rows` [outputs, taps] as one stream: per group, blocks of 4 outputs as [taps][4], the outputs left over as [taps]."""
    parts = []
    for group in rows.reshape(groups, -1, rows.shape[1]):
        whole = len(group) - len(group) % BLOCK
        parts += [group[first : first + BLOCK].T.ravel() for first in range(0, whole, BLOCK)]
        parts += list(group[whole:])
    return numpy.ascontiguousarray(numpy.concatenate(parts))


def fc_shape(batches: int, rows: numpy.ndarray) -> Struct:
    """The shape of fc_shape.h for weights `rows` [outputs, inputs]."""
    return Struct("aidge_ref_fc_shape", {"batches": batches, "in_features": rows.shape[1], "out_features": rows.shape[0]})
