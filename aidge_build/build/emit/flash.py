# SPDX-License-Identifier: MIT
"""Whether the constants fit the board at all: said before any C is written, not by the linker."""

from __future__ import annotations

from aidge_build.base.errors import AidgeError
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.program import Program

_SHOWN = 3


def require_flash(program: Program) -> None:
    """Refuses constants that no flash of the board can hold, all together or one by one (PLAN04).

    Code and the rest of the firmware come on top: a program that passes may still be too large, as the linker then says.
    Without a board, or for one that states no flash, nothing is known.
    """
    sizes = [memory.length_bytes for memory in program.target.flash]
    if not sizes:
        return
    arrays = arrays_of(program)
    largest = sorted(arrays.all, key=lambda array: (-len(array.data), array.symbol))
    if arrays.size_bytes > sum(sizes):
        needed = f"the weights need {arrays.size_bytes:,} B"
    elif largest and len(largest[0].data) > max(sizes):
        needed = f"an array of the weights needs {len(largest[0].data):,} B in one piece"
    else:
        return
    memories = " and ".join(f"{memory.length_bytes:,} B ({memory.name})" for memory in program.target.flash)
    shown = ", ".join(f"'{array.origin}' {len(array.data):,} B" for array in largest[:_SHOWN])
    raise AidgeError(
        f"{needed}, board {program.target.name} has {memories} of flash for them and all code; largest: {shown}",
        code="PLAN04",
        hint=_remedy(program),
    )


def _remedy(program: Program) -> str:
    constants = [tensor for tensor in program.view.tensors.values() if tensor.is_constant]
    floats = sum(tensor.size_bytes for tensor in constants if tensor.dtype.is_float)
    is_float = 2 * floats > sum(tensor.size_bytes for tensor in constants)
    quarter = "int8 instead of float32 needs a quarter; else " if is_float else ""
    own = f" (the model's own are {program.constants_bytes:,} B)" if program.constants_bytes else ""
    order = "" if program.options.optimize == "size" else f"`--optimize size`, with kernels that add less{own}, "
    return f"{quarter}{order}a board with more flash, or a smaller model"
