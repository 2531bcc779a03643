# SPDX-License-Identifier: MIT
"""The library functions that the code file needs: functions of C that its text calls, and functions that compilers insert."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from aidge_build.base.c_library import MATHEMATICS
from aidge_build.graph.dtype import DType
from aidge_build.plan.program import Program

BYTES = (DType.int8, DType.uint8, DType.bool)
# GNU's library for Arm cores without an instruction for it (Run-time ABI for the Arm Architecture, RTABI32, 4.1 to 4.3).
SINGLE = ("__aeabi_f*", "__aeabi_i2f", "__aeabi_ui2f", "__aeabi_l2f", "__aeabi_ul2f")
DOUBLE = ("__aeabi_d*", "__aeabi_cd*", "__aeabi_f2d", "__aeabi_i2d", "__aeabi_ui2d", "__aeabi_l2d", "__aeabi_ul2d")
INTEGERS = ("__aeabi_idiv*", "__aeabi_uidiv*", "__aeabi_uldivmod", "__aeabi_l*")
# The same for RISC-V (GCC Internals, "The GCC low-level runtime library").
RISCV_SINGLE = ("__*sf2", "__*sf3", "__fix*sf*", "__float*sf")
RISCV_DOUBLE = ("__*df2", "__*df3", "__fix*df*", "__float*df", "__extendsfdf2")
RISCV_INTEGERS = ("__clzsi2", "__*si3", "__*di3")
_LONGEST = 115


def computes_bytes_alone(program: Program) -> bool:
    """Whether every tensor that layers compute is of bytes: quantized or boolean."""
    return all(tensor.dtype in BYTES for tensor in _moving(program))


def needs_of(program: Program, texts: Sequence[str]) -> tuple[str, ...]:
    """The sentences that the header says of it; `texts` are the kernels of the code file."""
    called = set(re.findall(r"\b(\w+)\s*\(", "\n".join(texts)))
    mathematics = [name for name in MATHEMATICS if name in called]
    lines = [f"{program.code_file} calls memcpy and memset; compilers may add more calls of both."]
    if mathematics:
        lines += _wrapped(f"Functions of the C library's mathematics (-lm): {', '.join(mathematics)}.")
    if computes_bytes_alone(program) and not _is_for_riscv(program):
        return (
            *lines,
            "No tensor is wider than a byte, so the kernels need no function of the compiler's library: -nostdlib works.",
        )
    lines.append(
        "Functions of the compiler's library (libgcc; after -nostdlib LIBS=['gcc'] or -lgcc), for instructions not in the core:"
    )
    for what, names in _library(program, texts):
        lines += _wrapped(f"  {what}: {', '.join(names)}.")
    return tuple(lines)


def _library(program: Program, texts: Sequence[str]):
    dtypes = {tensor.dtype for tensor in _moving(program)}
    is_riscv = _is_for_riscv(program)
    if any(dtype.is_float for dtype in dtypes):
        yield "single precision", RISCV_SINGLE if is_riscv else SINGLE
    if DType.float64 in dtypes or not computes_bytes_alone(program) and re.search(r"\b(double|pow)\b", "\n".join(texts)):
        yield "double precision", RISCV_DOUBLE if is_riscv else DOUBLE
    yield "integers", RISCV_INTEGERS if is_riscv else INTEGERS


def _is_for_riscv(program: Program) -> bool:
    """Whether the code is for a RISC-V core: its conditions on the compiler name the macros of one."""
    return any("__riscv" in condition.macro for condition in program.target.conditions)


def _moving(program: Program):
    tensors = (tensor for layer in program.layers for tensor in (*layer.inputs, *layer.outputs))
    return (tensor for tensor in tensors if tensor is not None and not tensor.is_constant)


def _wrapped(sentence: str) -> list[str]:
    indent = "  " if sentence.startswith(" ") else ""
    return textwrap.wrap(sentence, _LONGEST, initial_indent="", subsequent_indent=indent + "  ", break_on_hyphens=False)
