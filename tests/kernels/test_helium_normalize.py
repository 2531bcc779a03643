# SPDX-License-Identifier: MIT
"""float32 normalizations of rows of `helium` against their numpy meaning, within 1e-5 of the largest value."""

from __future__ import annotations

import os

import pytest
from helium_harness import case, needs_emulator, run
from random_tensors import Randomness

from aidge_build.graph.tensor import constant
from aidge_build.operators.normalize import GroupNormalization, InstanceNormalization, LayerNormalization, RMSNormalization

STRESS = bool(os.environ.get("AIDGE_STRESS"))

DIMS = ((3, 4), (2, 64), (1, 5), (2, 3, 7), (1, 1), (4, 130), (2, 5, 18))
# dims, and of how many groups; 0: each channel is one
PLANES = (((1, 3, 4, 5), 0), ((2, 4, 3, 3), 2), ((2, 6, 7), 3), ((1, 5, 1, 1), 0), ((1, 2, 9, 3), 1), ((2, 3, 2, 31), 0))


def candidates():
    """Constant and computed parameters, rows over one axis and over two, groups of channels."""
    for seed, dims in enumerate(DIMS * 2):
        random = Randomness(seed)
        axis = len(dims) - 1 if random.integer(0, 2) else 1
        data, parameters = random.real(*dims), [random.float32(*dims[axis:]) for _ in range(2)]
        kind = (LayerNormalization, RMSNormalization)[seed % 3 == 2]
        count = 1 if kind is RMSNormalization else random.integer(1, 2)
        values = 5 * random.float32(*dims) + random.integer(-3, 3)
        if random.integer(0, 1):
            tensors = [constant(name, given) for name, given in zip("sb", parameters[:count])]
            yield case(kind(axis, 0.01), [data, *tensors], [values])
        else:
            tensors = [random.real(*dims[axis:], name=name) for name in "sb"[:count]]
            yield case(kind(axis, 1e-3), [data, *tensors], [values, *parameters[:count]])
    yield from groups()


def groups():
    """Numbers of each channel and of each group, constant and computed, planes of all lengths of rests."""
    for seed, (dims, groups) in enumerate(PLANES):
        random = Randomness(seed)
        operator = GroupNormalization(groups, 0.01) if groups else InstanceNormalization(0.01)
        count = operator.group_count(dims) if seed % 2 else dims[1]
        parameters = [random.float32(count) for _ in range(2)]
        values = 5 * random.float32(*dims) + random.integer(-3, 3)
        tensors = [constant(name, given) if seed % 3 else random.real(count, name=name) for name, given in zip("sb", parameters)]
        yield case(operator, [random.real(*dims), *tensors], [values, *([] if seed % 3 else parameters)])


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os",)][: 1 + 2 * STRESS], ids=str)
def test_normalizations_are_within_tolerance(flags):
    assert run(list(candidates()), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_statistics_as_outputs_are_left_to_ref():
    entry = next(iter(candidates()))
    several = LayerNormalization(1, 0.01, True)
    with pytest.raises(AssertionError, match="are outputs, too"):
        assert case(several, entry.view.inputs, entry.values).kernel
