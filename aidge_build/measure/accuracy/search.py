# SPDX-License-Identifier: MIT
"""Mixed precision: the types of layers that cost least and lose at most so much.

Noise of different layers adds up about independently, and so do their costs: with both per layer and type, the cheapest choice at
each price of noise is found layer by layer, exactly (Lagrange; Everett 1963). These choices, from all cheapest to all quietest,
are measured; the one that is taken is then made cheaper layer by layer while the measured loss allows it. Only measurements
decide about loss; the sums decide what to measure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aidge_build.base.terminal import with_progress
from aidge_build.measure.accuracy.sensitivity import with_type
from aidge_build.measure.accuracy.trials import FLOAT, INT8, INT16, Trial, Trials

Types = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search: the trial `taken`, None if no measured trial keeps the limit; all measured trials; and the trials
    that no other one beats in both cost and loss, the cheapest first."""

    taken: Trial | None
    measured: tuple[Trial, ...]
    front: tuple[Trial, ...]


def search(trials: Trials, most_loss: float, kinds: Sequence[str] = (INT8, INT16, FLOAT)) -> Found:
    """Returns the cheapest choice of types with a measured loss of at most `most_loss`."""
    noises, costs = _noises(trials, kinds), _costs(trials, kinds)
    wanted = dict.fromkeys([trials.all(kind) for kind in kinds] + hull(noises, costs, kinds))
    for types in with_progress("TRY", list(wanted), lambda types: f"{trials.cost(types).number:,.0f} {trials.cost(types).unit}"):
        trials.measured(types)
    kept = _cheapest([trial for trial in _of(kinds, trials) if trials.loss(trial) <= most_loss], trials)
    if kept is not None:
        kept = _made_cheaper(kept, trials, most_loss, kinds)
    return Found(kept, trials.seen, front(_of(kinds, trials), lambda trial: trials.cost(trial.types).number, trials.loss))


def _of(kinds: Sequence[str], trials: Trials) -> list[Trial]:
    """Returns the measured trials that have no other types."""
    return [trial for trial in trials.seen if set(trial.types) <= set(kinds)]


def hull(noises: Sequence[dict[str, float]], costs: Sequence[dict[str, float]], kinds: Sequence[str]) -> list[Types]:
    """The choices of types with the least cost + price * noise, for all prices from 0 up; of equals the earlier kind.

    `noises` and `costs` are the additions by each layer and kind. The choice is the same for all prices between two prices at
    which a layer's best kind changes, so that one price of each interval is enough.
    """
    prices = sorted(
        {
            (costs[index][one] - costs[index][other]) / (noises[index][other] - noises[index][one])
            for index in range(len(costs))
            for one in kinds
            for other in kinds
            if noises[index][one] < noises[index][other] and costs[index][one] > costs[index][other]
        }
    )
    between = [(low + high) / 2 for low, high in zip(prices, prices[1:])]
    found = []
    for price in [0.0, *between, *([prices[-1] * 2] if prices else [])]:
        found.append(
            tuple(
                min(kinds, key=lambda kind: (costs[index][kind] + price * noises[index][kind], kinds.index(kind)))
                for index in range(len(costs))
            )
        )
    return list(dict.fromkeys(found))


def front(trials: Sequence[Trial], cost: Callable[[Trial], float], loss: Callable[[Trial], float]) -> tuple[Trial, ...]:
    """Returns the trials such that no other trial costs at most as much and loses at most as much; of equal trials the first."""
    found: list[Trial] = []
    for trial in sorted(trials, key=lambda one: (cost(one), loss(one))):
        if not found or loss(trial) < loss(found[-1]):
            found.append(trial)
    return tuple(found)


def _noises(trials: Trials, kinds: Sequence[str]) -> list[dict[str, float]]:
    """Returns for each layer and kind the noise at the outputs, with all other layers in float."""
    floats = trials.all(FLOAT)
    base = trials.measured(floats).noise  # the noise of quantized inputs and outputs
    tasks = [(index, kind) for index in range(len(trials.layers)) for kind in kinds if kind != FLOAT]
    found: list[dict[str, float]] = [{FLOAT: 0.0} for _ in trials.layers]
    for index, kind in with_progress(
        "TRY", tasks, lambda task: f"layer {trials.shown(trials.layers[task[0]])} alone in {task[1]}"
    ):
        found[index][kind] = max(0.0, trials.measured(with_type(floats, index, kind)).noise - base)
    return found


def _costs(trials: Trials, kinds: Sequence[str]) -> list[dict[str, float]]:
    """Returns for each layer and kind the cost of the model, with all other layers in int8 and conversions around the layer."""
    integers = trials.all(INT8)
    return [{kind: trials.cost(with_type(integers, index, kind)).number for kind in kinds} for index in range(len(trials.layers))]


def _cheapest(found: Sequence[Trial], trials: Trials) -> Trial | None:
    return min(found, key=lambda trial: (trials.cost(trial.types).number, trials.loss(trial)), default=None)


def _made_cheaper(trial: Trial, trials: Trials, most_loss: float, kinds: Sequence[str]) -> Trial:
    """Changes one layer at a time to a cheaper type, the largest saving first, while the limit is kept."""
    while True:
        now = trials.cost(trial.types).number
        steps = [
            with_type(trial.types, index, kind)
            for index in range(len(trials.layers))
            for kind in kinds
            if kind != trial.types[index]
        ]
        cheaper = sorted((trials.cost(types).number, place, types) for place, types in enumerate(steps))
        better = next(
            (types for cost, _, types in cheaper if cost < now and trials.loss(trials.measured(types)) <= most_loss), None
        )
        if better is None:
            return trial
        trial = trials.measured(better)
