# SPDX-License-Identifier: MIT
"""The work of RISC-V instructions, without the ones of an FPU."""

from __future__ import annotations

from functools import lru_cache

from aidge_build.contract.riscv.instruction import STORE, TRAP, UNKNOWN, VECTOR_STORES, Operation
from aidge_build.contract.work import ADDRESS, CONDITION, DATA, DEFAULT, OPERAND, RESULT, SECOND, Work

_KINDS = {
    **{"lui": "move_constant", "auipc": "add_constant", "addi": "add_constant", UNKNOWN: DEFAULT},
    **dict.fromkeys(("add", "sub", "sh1add", "sh2add", "sh3add"), "add"),
    **dict.fromkeys(("and", "or", "xor"), "logic"),
    **dict.fromkeys(("andi", "ori", "xori"), "logic_constant"),
    **dict.fromkeys(("sll", "srl", "sra", "slli", "srli", "srai"), "shift"),
    **dict.fromkeys(("mulh", "mulhsu", "mulhu"), "multiply_long"),
    **{"mul": "multiply", **dict.fromkeys(("div", "divu", "rem", "remu"), "divide")},
    **{"lw": "load", "amo": "load", **dict.fromkeys(("lb", "lbu", "lh", "lhu"), "load_narrow")},
    **dict.fromkeys(("beq", "bne", "blt", "bge", "bltu", "bgeu"), "compare_branch"),
    **dict.fromkeys(("csrrw", "csrrs", "csrrc", "ecall", "ebreak", "mret", "sret", "wfi", TRAP), "system"),
    "fence": "barrier",
}
_JUMPS = {"jal": ("branch", "call"), "jalr": ("branch_register", "call_register")}
_ROLES = {"load": (ADDRESS, DATA), "store": (ADDRESS, DATA), "compare_branch": (CONDITION, CONDITION)}
_KEPT = 1 << 16


@lru_cache(_KEPT)
def work_of(operation: Operation, size_bytes: int) -> Work:
    """Returns the work of an operation; an unknown one has the kind `default`."""
    kind = _kind_of(operation)
    family = kind.removesuffix("_narrow")
    roles = _ROLES.get(family, (OPERAND, SECOND))
    sources = zip((operation.first, operation.second), roles, strict=True)
    reads = tuple((register, role) for register, role in sources if register not in ("", "zero"))
    writes = ((operation.target, RESULT),) if operation.target not in ("", "zero") else ()
    moves = family in ("load", "store")
    place = (operation.first, operation.number) if moves else None
    jumps = operation.name in _JUMPS or kind == "compare_branch"
    return Work(kind, reads, writes, int(moves), size_bytes, False, jumps, place)


def _kind_of(operation: Operation) -> str:
    """Returns the kind of an operation. A jump that writes no register is no call."""
    if operation.name in _JUMPS:
        return _JUMPS[operation.name][operation.target != "zero"]
    if operation.name in ("sw", STORE, *VECTOR_STORES):
        return "store" if operation.width >= 4 else "store_narrow"
    return _KINDS.get(operation.name, "alu")
