# SPDX-License-Identifier: MIT
"""Fits what boards/networks say to measured networks, and finds how far sums for whole networks are from the estimate."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy

from aidge_build.plan.prediction.networks import OTHER, Learned, Stalls, Work, described
from tools.prediction.cycles import Group, LayerCycles, Network, Place, groups
from tools.prediction.fit import least_squares

HEAD = """# SPDX-License-Identifier: MIT
# Written by `python -m tools.prediction networks`: do not edit. Cycles of networks by this core's timing table, in the emulator.
# error: the furthest that a network which was left out of the fit is from the estimate. core: cycles per instruction.
# stalls (and uncached, without the cache of an external flash): cycles per cycle of the core, per call, and per element of
# constants; long: more per cycle in layers with more than `beyond` products of an output, whose code the cache does not hold."""
FEWEST = 4  # layers of a function, in two networks; of others the numbers for all functions hold
BEYOND = (0, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)  # products of an output
KINDS = ("stalls", "uncached")
MUST_IMPROVE = 0.97  # what loops that are too long for the cache leave of the error, at most


def learned(networks: Sequence[Network], place: Place) -> Learned:
    """The numbers for a core and a flash ("": none)."""
    layers = _by_function(networks)
    core = {name: _cycles_per_instruction(own, place[0]) for name, own in layers.items()}
    if not place[1]:
        return Learned(core, 0.0)
    known = [kind for kind in KINDS if place in getattr(layers[OTHER][0], kind)]
    return Learned(core, 0.0, **{kind: {name: _stalls(own, place, kind) for name, own in layers.items()} for kind in known})


def _by_function(networks: Sequence[Network]) -> dict[str, list[LayerCycles]]:
    """The layers of each function that enough of them have, and of all functions together."""
    found: dict[str, list[LayerCycles]] = defaultdict(list)
    seen: dict[str, set[str]] = defaultdict(set)
    for network in networks:
        for layer in network.layers:
            for function in (layer.work.function, OTHER):
                found[function].append(layer)
                seen[function].add(network.name)
    return {function: own for function, own in sorted(found.items()) if len(own) >= FEWEST and len(seen[function]) > 1}


def _cycles_per_instruction(layers: Sequence[LayerCycles], core: str) -> float:
    instructions = numpy.array([layer.work.instructions for layer in layers], float)
    return _fitted(instructions[:, None], numpy.array([layer.core[core] for layer in layers], float))[0][0]


def _stalls(layers: Sequence[LayerCycles], place: Place, kind: str) -> Stalls:
    """The numbers with the least error, relative to the cycles of the core."""
    core = numpy.array([layer.core[place[0]] + 1 for layer in layers], float)
    stalls = numpy.array([getattr(layer, kind)[place] for layer in layers], float)
    best, least = Stalls(), float("inf")
    for beyond in BEYOND:
        trial = Stalls(beyond=beyond)
        units = numpy.array([trial.units(layer.work, layer.core[place[0]]) for layer in layers], float)
        factors, error = _fitted(units, stalls, core)
        if error < MUST_IMPROVE * least:
            best, least = Stalls(*map(float, factors), beyond=beyond if factors[-1] else 0), error
    return best


def _fitted(units: numpy.ndarray, wanted: numpy.ndarray, by: numpy.ndarray | None = None) -> tuple[numpy.ndarray, float]:
    """Factors of the units, and the error of the sums relative to `by`, or to what is wanted. Layers with four times the cycles
    count twice as much: networks take most of their time in few layers."""
    by = wanted if by is None else by
    per = numpy.sqrt(by / by.mean()) / by
    relative = units * per[:, None]
    largest = numpy.maximum(relative.max(axis=0), 1e-9)
    weights, error = least_squares(relative / largest, wanted * per)
    return weights / largest, error


def error_of(networks: Sequence[Network], place: Place, judged: Collection[str]) -> float:
    """The furthest that predicted cycles of a judged network are from the estimated ones, relative to them, if everything is
    learned from other networks. Networks whose names begin with the same word are one."""
    return max(map(abs, errors_of(networks, place, judged).values()), default=0.0)


def errors_of(networks: Sequence[Network], place: Place, judged: Collection[str]) -> Mapping[str, float]:
    """The same of each judged network whose instructions are predicted; below 0: too few cycles are predicted."""
    found = {}
    for word in sorted(set(map(_word, judged))):
        known = learned([network for network in networks if _word(network.name) != word], place)
        for network in networks:
            if network.name in judged and _word(network.name) == word and network.works:
                found[network.name] = _predicted(known, network.works) / _estimated(network.layers, place) - 1
    return found


def _predicted(known: Learned, works: Sequence[Work]) -> float:
    return known.core_cycles(works) + (known.stall_cycles(known.stalls, works) if known.stalls else 0.0)


def _estimated(layers: Sequence[LayerCycles], place: Place) -> int:
    return sum(layer.core[place[0]] + layer.stalls.get(place, 0) for layer in layers)


def _word(name: str) -> str:
    return name.split("_")[0]


def write_networks(folder: Path, found: Mapping[Group, Sequence[Network]], judged: Collection[str]) -> None:
    """Writes a file for each core that a board has; `found` by the groups of boards."""
    folder.mkdir(exist_ok=True)
    behind: dict[str, dict[str, Sequence[Network]]] = defaultdict(dict)  # core -> flash ("": any) -> networks
    for group, networks in found.items():
        for board in groups()[group]:
            behind[board.core.name].setdefault("", networks)
            behind[board.core.name][described(board)] = networks
    for core, by_flash in behind.items():
        (folder / f"{core}.toml").write_text(_text(core, by_flash, judged))


def _text(core: str, by_flash: Mapping[str, Sequence[Network]], judged: Collection[str]) -> str:
    networks = by_flash[""]
    known = learned(networks, (core, ""))
    lines = [HEAD, f"networks = {len(networks)}", f"error = {error_of(networks, (core, ''), judged):.3f}", "", "[core]"]
    lines += [f"{json.dumps(function)} = {share:.4g}" for function, share in known.core.items()]
    for flash, networks in sorted(by_flash.items()):
        if not flash:
            continue
        place, title = (core, flash), json.dumps(flash)
        known = learned(networks, place)
        lines += ["", f"[flash.{title}]", f"error = {error_of(networks, place, judged):.3f}"]
        for kind in KINDS:
            if found := getattr(known, kind):
                lines += [
                    "",
                    f"[flash.{title}.{kind}]",
                    *(f"{json.dumps(name)} = {_inline(each)}" for name, each in found.items()),
                ]
    return "\n".join(lines) + "\n"


def _inline(stalls: Stalls) -> str:
    return "{ " + ", ".join(f"{name} = {value:.4g}" for name, value in asdict(stalls).items() if value) + " }"
