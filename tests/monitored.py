# SPDX-License-Identifier: MIT
"""The monitor as its table in plan/monitoring.py says, inference after inference with Python's numbers, and dumps made of it."""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right

import numpy

from aidge_build.plan.monitoring import Monitoring


class Simulated:
    """The counters. `count` takes the stored elements of each counted input and output of an inference."""

    def __init__(self, monitoring: Monitoring, digest: str):
        self.monitoring, self.digest = monitoring, digest
        self.inferences = self.counted = self.halved = 0
        self.saturated, self.beyond, self.with_saturated, self.with_beyond = ([0] * len(monitoring.inputs) for _ in range(4))
        self.bins = [[0] * one.bins for one in monitoring.histograms]

    def count(self, inputs: list[numpy.ndarray], outputs: list[numpy.ndarray]) -> None:
        chosen: list[int] = []
        for number, (one, values) in enumerate(zip(self.monitoring.inputs, inputs, strict=True)):
            ends = sum(value in one.ends for value in values.tolist()) if one.ends else 0
            outside = sum(not one.seen.low <= value <= one.seen.high for value in values.tolist()) if one.seen else 0
            self.saturated[number] += ends
            self.beyond[number] += outside
            self.with_saturated[number] += ends > 0
            self.with_beyond[number] += outside > 0
            if one.seen:
                zipped = zip(one.seen.edges, sums(values, one.seen.center), strict=True)
                chosen += [bisect_right(edges, total) for edges, total in zipped]
        for one, values in zip(self.monitoring.outputs, outputs, strict=True):
            if one.kind == "number":
                chosen.append(min(max(int(values[0]), 0), 7))
            elif one.kind == "value":
                chosen.append(bisect_right(one.edges, values[0]))
            else:
                first, second = sorted(values.tolist())[:-3:-1]
                chosen.append(values.tolist().index(first))
                lead = numpy.float32(first) - numpy.float32(second) if one.dtype.is_float else first - second
                chosen.append(bisect_right(one.edges, lead))
        for bins, bin in zip(self.bins, chosen, strict=True):
            bins[bin] += 1
        self.inferences += 1
        self.counted += 1
        if any(255 in bins for bins in self.bins) or self.counted == 65535:
            self.halve()

    def halve(self) -> None:
        self.halved += 1
        self.counted //= 2
        for numbers in (self.saturated, self.beyond, self.with_saturated, self.with_beyond):
            numbers[:] = [number // 2 for number in numbers]
        for bins in self.bins:
            upto = [sum(bins[: index + 1]) // 2 for index in range(len(bins))]
            bins[:] = [upto[0], *(upto[index] - upto[index - 1] for index in range(1, len(bins)))]

    def dump(self) -> bytes:
        """The bytes that N_monitor writes."""
        inputs = len(self.monitoring.inputs)
        flat = [bin for bins in self.bins for bin in bins]
        body = struct.pack(
            f"<I{2 * inputs}IH{2 * inputs}H{len(flat)}B",
            *(self.inferences, *self.saturated, *self.beyond, self.counted, *self.with_saturated, *self.with_beyond, *flat),
        )
        size = 8 + 12 + len(body) + 4
        data = b"AMON" + struct.pack("<BBH", 1, inputs, size) + self.digest.encode() + body
        return data + struct.pack("<I", zlib.crc32(data))


def sums(values: numpy.ndarray, center: float) -> tuple:
    """Sum, sum of distances from the center, and sum of steps, in the order of the elements."""
    number = numpy.float32 if values.dtype.kind == "f" else int
    total = spread = step = number(0)
    before = number(values[0])
    for value in map(number, values):
        total += value
        spread += abs(value - number(center))
        step += abs(value - before)
        before = value
    return total, spread, step
