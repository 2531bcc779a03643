# SPDX-License-Identifier: MIT
"""The numbers of a monitor: read from a dump of a device, which is foreign, or counted from samples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.plan.monitoring import (
    CRC_BYTES,
    DIGEST_BYTES,
    FORMAT,
    HEAD_BYTES,
    MAGIC,
    MonitoredInput,
    MonitoredOutput,
    Monitoring,
)
from aidge_build.plan.seen_range import stored_elements

Bins = tuple[int, ...]


@dataclass(frozen=True)
class InputCounts:
    """Elements, and inferences with such elements."""

    saturated: int
    beyond: int
    with_saturated: int
    with_beyond: int


@dataclass(frozen=True)
class Counts:
    """The numbers of `plan.monitoring`; `bins` has one tuple for each histogram."""

    inferences: int
    counted: int
    inputs: tuple[InputCounts, ...]
    bins: tuple[Bins, ...]


def together(dumps: Sequence[Counts]) -> Counts:
    """Returns the sum of the counts of several dumps, if the counters were reset after each."""
    inputs = tuple(
        InputCounts(*(sum(numbers) for numbers in zip(*(astuple(one) for one in same), strict=True)))
        for same in zip(*(dump.inputs for dump in dumps), strict=True)
    )
    bins = tuple(
        tuple(sum(numbers) for numbers in zip(*same, strict=True)) for same in zip(*(dump.bins for dump in dumps), strict=True)
    )
    return Counts(sum(dump.inferences for dump in dumps), sum(dump.counted for dump in dumps), inputs, bins)


class _Damaged(Exception):
    """The reason why bytes are no dump of the model."""


class _Foreign(_Damaged):
    """The same for bytes that may never have been one: the word AMON in a log, or the dump of another model."""


def read_counts(data: bytes, monitoring: Monitoring, digest: str, where: str) -> tuple[Counts, ...]:
    """Returns each dump in these bytes, in order; a log may hold several between other bytes. AidgeError (DUMP) for bytes without
    a dump of this model, and for a damaged dump."""
    found, foreign, place = [], "", data.find(MAGIC)
    try:
        while place >= 0:
            try:
                found.append(_counts(data, place, monitoring, digest))
                place += monitoring.dump_bytes
            except _Foreign as reason:
                foreign = foreign or str(reason)
                place += len(MAGIC)
            place = data.find(MAGIC, place)
    except _Damaged as reason:
        raise _refused(str(reason), where) from None
    if found:
        return tuple(found)
    if not foreign and MAGIC[::-1] in data:
        raise AidgeError(
            "holds dumps with the bytes of each word reversed",
            where=where,
            code="DUMP",
            hint="send the bytes of N_monitor in their order",
        )
    raise _refused(foreign or f"holds no dump: {len(data):,} B without AMON", where)


def _refused(what: str, where: str) -> AidgeError:
    return AidgeError(
        what,
        where=where,
        code="DUMP",
        hint="a whole dump of N_monitor, from a build with this model, these samples (--monitor-samples) and the same options",
    )


def _counts(data: bytes, place: int, monitoring: Monitoring, digest: str) -> Counts:
    size = monitoring.dump_bytes
    dump = data[place : place + size]
    at = f"at byte {place:,}: "
    if len(dump) < HEAD_BYTES + DIGEST_BYTES:
        raise _Foreign(f"{at}the dump is cut off in its head")
    if dump[len(MAGIC)] != FORMAT:
        raise _Foreign(f"{at}the dump has format {dump[len(MAGIC)]}, this version reads {FORMAT}")
    other = dump[HEAD_BYTES : HEAD_BYTES + DIGEST_BYTES]
    if other != digest.encode("ascii") or not dump.startswith(monitoring.head()):
        raise _Foreign(f"{at}the dump is of other inputs, outputs or samples: {ascii(other.decode('latin-1'))}, not {digest}")
    if len(dump) < size:
        raise _Damaged(f"{at}the dump is cut off: {len(dump)} of {size} B")
    if zlib.crc32(dump[:-CRC_BYTES]) != int.from_bytes(dump[-CRC_BYTES:], "little"):
        raise _Damaged(f"{at}the dump is damaged: its CRC is of other bytes")
    counts = _numbers(dump[HEAD_BYTES + DIGEST_BYTES : -CRC_BYTES], monitoring)
    if not _agree(counts):
        raise _Damaged(f"{at}the dump was taken during an inference: its numbers contradict each other")
    if not counts.counted:
        raise _Damaged(f"{at}no inference has run since the last reset")
    return counts


def _agree(counts: Counts) -> bool:
    """Whether no number contradicts another one."""
    return (
        counts.counted <= counts.inferences
        and all(sum(bins) == counts.counted for bins in counts.bins)
        and all(one.with_saturated <= min(one.saturated, counts.counted) for one in counts.inputs)
        and all(one.with_beyond <= min(one.beyond, counts.counted) for one in counts.inputs)
    )


def _numbers(data: bytes, monitoring: Monitoring) -> Counts:
    number = len(monitoring.inputs)
    numbers = numpy.frombuffer(data, numpy.dtype(_fields(number, monitoring.bins)))[0]
    columns = [numbers[name].tolist() for name in ("saturated", "beyond", "with_saturated", "with_beyond")]
    bins = numbers["bins"].tolist()
    return Counts(
        int(numbers["inferences"]),
        int(numbers["counted"]),
        tuple(InputCounts(*row) for row in zip(*columns, strict=True)),
        tuple(tuple(bins[one.first : one.first + one.bins]) for one in monitoring.histograms),
    )


def _fields(inputs: int, bins: int) -> list[tuple]:
    return [
        ("inferences", "<u4"),
        *((name, "<u4", (inputs,)) for name in ("saturated", "beyond")),
        ("counted", "<u2"),
        *((name, "<u2", (inputs,)) for name in ("with_saturated", "with_beyond")),
        ("bins", "u1", (bins,)),
    ]


@dataclass(frozen=True, eq=False)
class Reference:
    """The counts of samples, and for each histogram the bin of each sample, in the order of the samples."""

    counts: Counts
    courses: tuple[numpy.ndarray, ...]


def counts_of(
    monitoring: Monitoring, view: GraphView, inputs: dict[str, numpy.ndarray], outputs: dict[str, numpy.ndarray]
) -> Reference:
    """Returns what the monitor would have counted of these inputs and outputs [sample, dims...], with numbers of any size. The
    outputs may be of other samples than the inputs."""
    stored = {name: stored_elements(view.tensor(name), values) for side in (inputs, outputs) for name, values in side.items()}
    samples = len(next(iter(inputs.values())))
    courses = (
        *(course for one in monitoring.inputs for course in _of_input(one, stored[one.name])),
        *(course for output in monitoring.outputs for course in _of_output(output, stored[output.name])),
    )
    bins = tuple(
        tuple(numpy.bincount(course, minlength=one.bins).tolist())
        for course, one in zip(courses, monitoring.histograms, strict=True)
    )
    seen = tuple(_elements(one, stored[one.name]) for one in monitoring.inputs)
    return Reference(Counts(samples, samples, seen, bins), courses)


def _elements(one: MonitoredInput, values: numpy.ndarray) -> InputCounts:
    saturated = numpy.isin(values, one.ends) if one.ends else numpy.zeros(values.shape, bool)
    beyond = ~((values >= one.seen.low) & (values <= one.seen.high)) if one.seen else numpy.zeros(values.shape, bool)
    sums = [int(where.sum()) for where in (saturated, beyond)]
    return InputCounts(*sums, *(int(where.any(axis=1).sum()) for where in (saturated, beyond)))


def _of_input(one: MonitoredInput, values: numpy.ndarray) -> Iterator[numpy.ndarray]:
    if one.seen:
        yield from one.seen.bins(values)


def _of_output(one: MonitoredOutput, values: numpy.ndarray) -> Iterator[numpy.ndarray]:
    if one.kind == "number":
        yield numpy.clip(values[:, 0], 0, one.classes - 1).astype(numpy.int64)
    elif one.kind == "value":
        yield numpy.searchsorted(one.edges, values[:, 0], side="right")
    else:
        yield values.argmax(axis=1)
        ordered = numpy.sort(values if one.dtype.is_float else values.astype(numpy.int64), axis=1)
        yield numpy.searchsorted(one.edges, ordered[:, -1] - ordered[:, -2], side="right")
