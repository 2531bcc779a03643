# SPDX-License-Identifier: MIT
"""Whether a decoder's outputs follow from the valid rows of its caches alone, and not from how long a cache is.

Some files have no input for positions: they take the position of a token from the length of its cache. In a cache that is as long
for the first token as for the last one, every token would have the same position.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.graph.view import GraphView

VALID = 2  # rows that hold something
_NEAR = 1e-3  # of the largest output: float32 in another order, not another position


def require_same_outputs(short: GraphView, long: GraphView) -> None:
    """Refuses (STATE) a model that gives other outputs with caches that are longer by rows that the mask leaves out."""
    given = _values(long)
    fitting = {name: values[tuple(slice(-size, None) for size in short.tensor(name).dims)] for name, values in given.items()}
    with numpy.errstate(all="ignore"):
        one, two = cpu.run(short, fitting), cpu.run(long, given)
    for name in short.outputs:
        if name not in {state.written for state in short.states} and not _are_near(one[name], two[name]):
            raise AidgeError(
                f"output '{name}' changes with the length of the caches, although the mask leaves the other rows out: the file "
                "computes positions from that length",
                where="--state",
                code="STATE",
                hint="export the model with an input for positions (position_ids)",
            )


def _values(view: GraphView) -> Mapping[str, numpy.ndarray]:
    """Random inputs, and caches of which the last rows hold something."""
    random = numpy.random.default_rng(1)
    states, values = {state.read for state in view.states}, {}
    for name in view.inputs:
        tensor = view.tensor(name)
        if name in states and tensor.dims == (1,):
            values[name] = numpy.array([VALID], tensor.dtype.numpy)
        elif tensor.dtype.is_float:
            values[name] = random.normal(size=tensor.dims).astype(tensor.dtype.numpy)
        else:
            values[name] = numpy.ones(tensor.dims, tensor.dtype.numpy)
    return values


def _are_near(one: numpy.ndarray, two: numpy.ndarray) -> bool:
    return one.shape == two.shape and bool(numpy.allclose(one, two, rtol=0, atol=_NEAR * max(1e-6, float(numpy.abs(one).max()))))
