# SPDX-License-Identifier: MIT
"""A layer that filters features over time: what it remembers is an input and an output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.base import Activated, TensorType, require


@dataclass(frozen=True)
class Svdf(Activated):
    """state' = the last M features of each filter; y[u] = clamp(bias[u] + sum over its `rank` filters and M times of state' * T).

    Inputs: data [N, I], features W [F, I], times T [F, M], optional bias [F / rank], state [N, F M]. Outputs: state [N, F M], y
    [N, F / rank]. A feature is the product of data and W, the last one of its filter. Source: TensorFlow Lite's SVDF.
    """

    rank: int = 1

    def infer(self, inputs):
        data, features, times, bias, state = inputs
        require(data.rank == features.rank == times.rank == state.rank == 2, "data, weights and state must have rank 2")
        filters, memory = times.dims
        require(features.dims == (filters, data.dims[1]), f"the features have the dims {list(features.dims)}")
        require(state.dims == (data.dims[0], filters * memory), f"the state has the dims {list(state.dims)}")
        require(self.rank > 0 and filters % self.rank == 0, f"{filters} filters do not divide into groups of {self.rank}")
        units = filters // self.rank
        require(bias is None or bias.dims == (units,), f"the bias has the dims {bias and list(bias.dims)}, wants [{units}]")
        return TensorType(state.dims, state.dtype), TensorType((data.dims[0], units), data.dtype)

    def shifted(self, state: numpy.ndarray, latest: numpy.ndarray, memory: int) -> numpy.ndarray:
        """The state [N, F M] without its oldest features, and with the latest ones [N, F]; [N, F, M]."""
        kept = state.reshape(*latest.shape, memory)[..., 1:]
        return numpy.concatenate([kept, latest[..., None]], axis=-1)

    def summed(self, state: numpy.ndarray, times: numpy.ndarray, bias: numpy.ndarray | None) -> numpy.ndarray:
        """Returns the sums over the times and the filters of each unit, [N, F / rank]."""
        sums = (state * times).sum(axis=-1).reshape(len(state), -1, self.rank).sum(axis=-1)
        return sums if bias is None else sums + bias

    def forward(self, data, features, times, bias, state):
        after = self.shifted(state, data @ features.T, times.shape[1])
        return after.reshape(state.shape), self.clamp(self.summed(after, times, bias))

    def multiply_accumulates(self, inputs, outputs):
        data, features, times, *_ = inputs
        return data.dims[0] * (features.elements + times.elements)
