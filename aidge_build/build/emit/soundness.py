# SPDX-License-Identifier: MIT
"""The conditions that a program must meet before a byte of it is printed: a violation is a fault of aidge_build, and refused."""

from __future__ import annotations

import re

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import check_model_name, public_symbols
from aidge_build.plan.program import Program

_SYMBOL, _C_NAME = re.compile(r"[A-Za-z0-9_]{1,63}"), re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CHOICES = {
    "io": ("caller", "arena"),
    "arena": ("static", "caller"),
    "weights": ("c", "incbin"),
    "dma": ("off", "hooks", "on"),
    "assembly": ("on", "off"),
    "unaligned": ("on", "off"),
    "kernels": ("own", "shared"),
    "pack_weights": ("on", "tables", "off"),
    "copy_constants": ("off", "memcpy", "hook"),
}


def require_sound(program: Program) -> None:
    """Refuses a program if its text would not compile, would clash, or would leave an output unwritten."""
    check_model_name(program.name)
    for option, allowed in _CHOICES.items():
        value = getattr(program.options, option)
        if value not in allowed:
            raise AidgeError(f"{option}={value!r} is not known", code="USAGE", hint=f"one of {', '.join(allowed)}")
    if (program.options.weights, program.options.assembly) == ("incbin", "off"):
        raise AidgeError("weights=incbin is text for the assembler", where="assembly=off", code="USAGE", hint="weights=c")
    alignment = program.memory.alignment
    _require(
        alignment.bit_count() == 1 and alignment % program.memory.arena.alignment == 0,
        f"the arena's alignment is {alignment}, the plan needs {program.memory.arena.alignment}",
    )
    for part in program.memory.parts:
        _require(
            re.fullmatch(r"[A-Za-z0-9_]*", part.region + part.name) is not None,
            f"the region's name {part.region!r} is no identifier",
        )
        _require(
            part.start_bytes % alignment == 0,
            f"the arena's part in {part.region} begins at byte {part.start_bytes}",
        )
    _require_symbols(program)
    _require_outputs(program)


def _require_symbols(program: Program) -> None:
    seen = {name.lower() for name in public_symbols(program.name)}
    for layer in program.layers:
        valid = _SYMBOL.fullmatch(layer.symbol) and layer.symbol.startswith(f"{program.name}_")
        _require(bool(valid) and layer.symbol.lower() not in seen, f"the layer symbol '{layer.symbol}' is taken or no C name")
        _require(
            _C_NAME.fullmatch(layer.call.function) is not None,
            f"kernel {layer.kernel.name} calls '{layer.call.function}', which is no C name",
        )
        seen.add(layer.symbol.lower())


def _require_outputs(program: Program) -> None:
    written = {program.memory.places.get(tensor.name) for layer in program.layers for tensor in layer.outputs}
    for name in program.view.outputs:
        _require(name in program.memory.places, f"the graph output '{name}' has no place")
        _require(program.memory.places[name] in written, f"no layer writes the graph output '{name}'")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise AidgeError(what, code="EMIT", hint="this is a fault of the compiler")
