# SPDX-License-Identifier: MIT
"""Which buffers of the caller may share bytes: an input that is read before an output is written may be where that goes."""

from __future__ import annotations

from itertools import combinations

from aidge_build.build.emit.ports import Port
from aidge_build.plan.program import Program

MOST_PAIRS = 128  # that N_run compares: the pairs grow with the square of the number of inputs and outputs


def pairs_of(program: Program, ports: tuple[Port, ...]) -> int:
    """Returns the number of pairs of an input and an output, or of two outputs."""
    inputs = sum(port.is_input for port in ports)
    outputs = len(ports) - inputs
    return inputs * outputs + outputs * (outputs - 1) // 2 if program.options.io == "caller" else 0


def apart(program: Program, ports: tuple[Port, ...]) -> tuple[tuple[Port, Port], ...]:
    """The pairs that must not share a byte; () where there are more than `MOST_PAIRS`.

    These are two outputs, and an input that is still read in the layer or cascade that first writes the output, or after it. By
    rows no layer is the last: all pairs.
    """
    if not 0 < pairs_of(program, ports) <= MOST_PAIRS:
        return ()
    read, written = program.moments
    inputs, outputs = [port for port in ports if port.is_input], [port for port in ports if not port.is_input]
    beside = [
        (before, after)
        for number, before in enumerate(inputs)
        for index, after in enumerate(outputs)
        if program.progress or read.get(number, -1) >= written.get(index, -1)
    ]
    return (*beside, *combinations(outputs, 2))


def overlap_checks(program: Program, ports: tuple[Port, ...], arena: str) -> list[str]:
    """Returns C conditions, each true if two buffers overlap that must not. `arena`: the caller's pointer, "" if the arena is not
    the caller's."""
    sizes = [
        (one.parameter, one.tensor.size_bytes, other.parameter, other.tensor.size_bytes) for one, other in apart(program, ports)
    ]
    if arena and program.memory.arena.peak_bytes and program.options.io == "caller" and len(ports) <= MOST_PAIRS:
        sizes += [(arena, program.memory.arena.peak_bytes, port.parameter, port.tensor.size_bytes) for port in ports]
    return [
        f"(uintptr_t){other} - (uintptr_t){one} < {one_bytes}u || (uintptr_t){one} - (uintptr_t){other} < {other_bytes}u"
        for one, one_bytes, other, other_bytes in sizes
        if one_bytes and other_bytes  # an empty buffer may be anywhere
    ]


def overlap_words(program: Program, ports: tuple[Port, ...]) -> tuple[str, ...]:
    """Returns the sentences of N.h about buffers that may overlap."""
    possible, wrong = pairs_of(program, ports), apart(program, ports)
    if not possible:
        return ()
    if possible > MOST_PAIRS:
        return ("Buffers must not overlap; there are too many to compare.",)
    if not wrong:
        return ("Inputs are read before the output is written: they may overlap.",)
    if len(wrong) == possible:
        return ("Buffers must not overlap.",)
    after = dict.fromkeys(other.parameter for _, other in wrong)
    before = {name: [f"`{one.parameter}`" for one, other in wrong if other.parameter == name] for name in after}
    return tuple(f"`{name}` must not overlap {', '.join(others)}." for name, others in before.items())
