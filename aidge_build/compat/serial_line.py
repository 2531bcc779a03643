# SPDX-License-Identifier: MIT
"""The host's end of a serial line over which an exported model reports its layers (`generate_main_compare(..., serial=True)`)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.serial_line import BAUD, received_lines
from aidge_build.compat.export_main import TOLERANCE, exported, largest, references_of, reported
from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.graph.tensor import Tensor

_LINE = re.compile(r"L([0-9a-f]{4})([0-9a-f]{8})((?:[0-9a-f]{2})+)([0-9a-f]{4})")
_END, _REFUSED = "E", "R"


@dataclass(frozen=True)
class Compared:
    """An output of a layer: how many of its values differ, and the first of these with both values."""

    name: str
    elements: int
    differing: int
    first: int = -1
    got: float = 0.0
    wanted: float = 0.0

    def __str__(self) -> str:
        said = f"{self.name}: {self.differing} of {self.elements} values differ"
        return f"{said}; {self.first}: {self.got:g} instead of {self.wanted:g}" if self.differing else said


def compare_serial(
    lines: Iterable[str | bytes], scheduler: SequentialScheduler, inputs: Mapping[str, numpy.ndarray]
) -> tuple[Compared, ...]:
    """Returns each output that the target reported with the numpy backend's values, in the order of the layers.

    Integers must be equal, floats within 1e-4 of the output's largest value. Lines of other text are left out. AidgeError (code
    VECTORS) for a damaged line, a line out of order, and a report that does not end.
    """
    tensors = reported(exported(scheduler))
    received = _received(lines, tensors)
    return tuple(
        _compared(tensor, bytes(data), wanted)
        for data, (tensor, wanted) in zip(received, references_of(scheduler, inputs), strict=True)
    )


def serial_lines(path: str | os.PathLike, baud: int = BAUD) -> Iterator[bytes]:
    """Yields the lines that arrive at a serial device, in raw mode with 8 data bits and no parity; of a file, its lines."""
    for line in received_lines(path, baud):
        yield line
        if line.strip() in (_END.encode(), _REFUSED.encode()):
            return


def _received(lines: Iterable[str | bytes], tensors: list[Tensor]) -> list[bytearray]:
    """The bytes of each output; AidgeError unless all of them came, in order and as they were sent."""
    found = [bytearray() for _ in tensors]
    for line in lines:
        text = (line.decode("ascii", "replace") if isinstance(line, bytes) else line).strip()
        if text == _END:
            short = [tensor.name for tensor, data in zip(tensors, found) if len(data) != tensor.size_bytes]
            if short:
                raise _fault(f"the report ends before '{short[0]}' is whole")
            return found
        if text == _REFUSED:
            raise _fault("the model refused its arguments")
        if not text.startswith("L"):
            continue
        match = _LINE.fullmatch(text)
        data = bytes.fromhex(match[3]) if match else b""
        if match is None or sum(data) & 0xFFFF != int(match[4], 16):
            raise _fault(f"the line {text[:60]!r} is damaged")
        index, first = int(match[1], 16), int(match[2], 16)
        if index >= len(found) or first != len(found[index]):
            raise _fault(f"a line is missing before {text[:60]!r}")
        found[index] += data
    raise _fault("the report has no end")


def _fault(what: str) -> AidgeError:
    return AidgeError(
        what, where="serial line", code="VECTORS", hint="the folder must be that of this scheduler: export it again"
    )


def _compared(tensor: Tensor, data: bytes, wanted: numpy.ndarray) -> Compared:
    stored = tensor.to_stored(numpy.asarray(wanted, tensor.dtype.numpy)).reshape(-1)
    got = numpy.frombuffer(data, stored.dtype.newbyteorder("<")).astype(numpy.float64)
    reference = stored.astype(numpy.float64)
    wrong = numpy.flatnonzero(~(numpy.abs(got - reference) <= TOLERANCE * largest(wanted)))
    if not len(wrong):
        return Compared(tensor.name, stored.size, 0)
    first = int(wrong[0])
    return Compared(tensor.name, stored.size, len(wrong), first, float(got[first]), float(reference[first]))
