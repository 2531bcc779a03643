# SPDX-License-Identifier: MIT
"""N_verify_constants and the canaries as C: the constants in the order in which they are checked, and their CRC-32."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.build.emit.cascades import CascadeText
from aidge_build.build.emit.function import Function
from aidge_build.build.emit.layers import LayerText
from aidge_build.build.emit.struct_bytes import bytes_of_struct, numbers_in, structs_in, tables_in
from aidge_build.plan.constant_arrays import Array, Arrays
from aidge_build.plan.integrity import CANARY, Integrity, canary_offsets
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class Part:
    """Constants of the program: their C name, whether that is an array, and the bytes as the target stores them."""

    symbol: str
    is_array: bool
    data: bytes

    @property
    def address(self) -> str:
        """The address as C text."""
        return self.symbol if self.is_array else f"&{self.symbol}"


@dataclass(frozen=True)
class IntegrityText:
    """The values for the templates. `parts` are the constants that N_verify_constants reads after a bound block of weights;
    `canaries` are C texts: the address of each word next to the arena. `fields` are the declarations of the struct."""

    type: str
    at: str  # C text: the struct
    fields: tuple[str, ...]
    parts: tuple[Part, ...]
    digest: str
    canaries: tuple[str, ...]
    verifies: bool
    is_owned: bool
    canary: int = CANARY


def integrity_symbol(program: Program) -> str:
    """The C name of the struct that the model owns."""
    return f"{program.name}_integrity"


def integrity_fields(program: Program) -> tuple[str, ...]:
    """The struct's fields as `plan.integrity.Integrity` counts them; none for a model without checks."""
    if Integrity.of(program.options) is None:
        return ()
    block = ("uint32_t block_bytes",) if program.options.replaces_weights else ()
    progress = ("uint32_t crc", "uint32_t done", *block, "uint16_t part") if program.options.verifies_constants else ()
    return (*progress, "uint8_t failure", "uint8_t armed")


def integrity_text(program: Program, parts: tuple[Part, ...]) -> IntegrityText | None:
    """Returns the values for the templates; None for a model without checks."""
    if Integrity.of(program.options) is None:
        return None
    is_owned = program.options.arena == "static"
    arena = f"{program.name}_arena" if is_owned else "self->arena"
    return IntegrityText(
        f"{program.name}_integrity_state",
        integrity_symbol(program) if is_owned else "self->integrity",
        integrity_fields(program),
        parts,
        digest_symbol(program),
        tuple(f"&{arena}[{offset}]" for offset in canary_offsets(program.memory.arena)),
        program.options.verifies_constants,
        is_owned,
    )


def digest_symbol(program: Program) -> str:
    """The C name of the CRC-32 that the generator computed."""
    return f"{program.name}_integrity_digest"


def parts_of(
    program: Program,
    arrays: Arrays,
    layers: Sequence[LayerText],
    cascades: Sequence[CascadeText],
    kernels: Sequence[str],
) -> tuple[Part, ...]:
    """Returns the constants to check: arrays of N_weights.c (a block of weights has a CRC of its own), the structs of layers, the
    tables of cascades, and tables of kernels. `kernels` are the C texts that declare structs and define tables."""
    if not program.options.verifies_constants:
        return ()
    start = (arrays.initial_state,) if arrays.initial_state else ()
    fixed = start if program.options.replaces_weights else arrays.all
    found = [Part(array.symbol, True, array.data) for array in fixed]
    declared = structs_in(kernels)
    for layer in layers:
        for struct in layer.structs:
            data = [bytes_of_struct(declared, struct.type, [value for _, value in fields]) for fields in struct.elements]
            found.append(Part(struct.name, bool(struct.others), b"".join(data)))
    found += _tables(cascades, kernels)
    if not found and not program.options.replaces_weights:
        raise AidgeError(
            "the model has no constants to check",
            where=f"--integrity {program.options.integrity}",
            hint="--integrity canary" if program.options.has_canary else "leave it out",
            code="USAGE",
        )
    return tuple(found)


def _tables(cascades: Sequence[CascadeText], kernels: Sequence[str]) -> Iterator[Part]:
    """Yields the steps of cascades, and the tables of kernels."""
    for cascade in cascades:
        kind = numpy.dtype(cascade.table_type.removesuffix("_t")).newbyteorder("<")
        numbers = [number for line in cascade.table for number in numbers_in(line)]
        yield Part(f"{cascade.symbol}_steps", True, numpy.array(numbers, kind).tobytes())
    for name, data in tables_in(kernels).items():
        yield Part(name, True, data)


def digest_array(program: Program, parts: Sequence[Part]) -> tuple[Array, ...]:
    """Returns the array of N_weights.c with the CRC-32 (IEEE 802.3, as in zlib) of all parts in order; none without parts."""
    if not parts:
        return ()
    crc = 0
    for part in parts:
        crc = zlib.crc32(part.data, crc)
    return (Array(digest_symbol(program), numpy.array([crc], numpy.uint32), "CRC-32 of all constants"),)


def integrity_functions(program: Program, self: tuple[str, ...], arguments: tuple[str, ...]) -> tuple[Function, ...]:
    """Returns N_verify_constants, for a model with this check."""
    if not program.options.verifies_constants:
        return ()
    prefix = program.name.upper()
    pointer = f"{prefix}_POINTER when `self` is null, " if self else ""
    unbound = f"{prefix}_WEIGHTS before {program.name}_bind has accepted weights, " if program.options.replaces_weights else ""
    comment = (
        "Checks the next `bytes` of all constants by their CRC-32; after the last byte the next call begins again.",
        f"Returns {prefix}_MORE before the last byte, {prefix}_OK when all constants are right; {pointer}{unbound}".rstrip(),
        f"{prefix}_DAMAGED when one is not: then all calls of the model refuse {_until(program)}.",
    )
    return (Function(f"{program.name}_verify_constants", "int", (*self, "uint32_t bytes"), (*arguments, "bytes"), comment),)


def refusals(program: Program) -> tuple[str, ...]:
    """Returns the lines of N_run's comment about failed checks."""
    prefix, options = program.name.upper(), program.options
    damaged = [f"{prefix}_DAMAGED after {program.name}_verify_constants found damage"] if options.verifies_constants else []
    written = [f"{prefix}_OVERWRITTEN when bytes next to the arena were overwritten"] if options.has_canary else []
    return (f"{', '.join([*damaged, *written])}: {_until(program)}, all calls refuse.",) if damaged or written else ()


def _until(program: Program) -> str:
    return "until the core is reset" if program.options.arena == "static" else f"until {program.name}_init"
