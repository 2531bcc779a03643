# SPDX-License-Identifier: MIT
"""Instructions as a pipeline sees them: the kind of work, the registers that are read and written, and each register's role.

The kinds are those of all instruction sets: each set uses some of them.
"""

from __future__ import annotations

from typing import NamedTuple

DEFAULT = "default"  # the kind that every other kind builds on
# Each kind with its parent: a table without numbers for the kind uses the numbers of its parent.
PARENTS = {
    "alu": DEFAULT,
    **dict.fromkeys(("move", "add", "logic", "compare", "shift", "shifted", "shifted_constant", "bitfield", "simd"), "alu"),
    **{"move_constant": "move", "add_constant": "add", "logic_constant": "logic", "compare_constant": "compare"},
    **{"add_wide": "add", "logic_wide": "logic"},  # of two registers, in 32 bits
    **dict.fromkeys(("add_carry", "test", "conditional_select"), "logic"),
    **dict.fromkeys(("insert", "extend", "pack", "reverse", "count"), "bitfield"),
    **{"compare_shifted": "shifted", "extend_add": "extend", "saturate": "simd", "select": "simd", "long_shift": "shift"},
    "multiply": "alu",
    **dict.fromkeys(("multiply_accumulate", "multiply_long"), "multiply"),
    **{"multiply_accumulate_long": "multiply_long", "divide": "alu"},
    **{"load": DEFAULT, "load_narrow": "load", "load_pair": "load", "load_multiple": "load", "preload": "load"},
    **{"store": DEFAULT, "store_narrow": "store", "store_pair": "store", "store_multiple": "store"},
    **{"branch": DEFAULT, "compare_branch": "branch", "branch_register": "branch", "table_branch": "branch"},
    **{"call": "branch", "call_register": "call", "loop_end": "branch", "loop_start": "alu"},
    **dict.fromkeys(("nop", "it", "barrier", "system", "float", "vector"), DEFAULT),
    **dict.fromkeys(("float_add", "float_multiply", "float_convert", "float_move", "float_compare"), "float"),
    **{
        "float_accumulate": "float_multiply",
        "float_fused": "float_accumulate",
        "float_divide": "float",
        "float_root": "float_divide",
    },
    **dict.fromkeys(("float_from_core", "float_to_core", "float_status"), "float_move"),
    **{f"double_{name}": f"float_{name}" for name in ("add", "multiply", "accumulate", "fused", "divide", "root", "convert")},
    **{"float_load": "load", "double_load": "float_load", "float_load_multiple": "load_multiple"},
    **{"float_store": "store", "double_store": "float_store", "float_store_multiple": "store_multiple"},
    **dict.fromkeys(("vector_integer", "vector_multiply", "vector_float_add", "vector_move", "vector_predicate"), "vector"),
    **dict.fromkeys(("vector_shift", "vector_narrow", "vector_extreme", "vector_duplicate"), "vector_integer"),
    **dict.fromkeys(("vector_multiply_across", "vector_float_multiply", "vector_add_across"), "vector_multiply"),
    **dict.fromkeys(("vector_fused", "vector_convert"), "vector_float_multiply"),
    **dict.fromkeys(("vector_from_core", "vector_to_core", "vector_immediate"), "vector_move"),
    "vector_compare": "vector_float_add",
    **{"vector_load": "vector", "vector_gather": "vector_load", "vector_load_interleaved": "vector_load"},
    **{"vector_store": "vector", "vector_scatter": "vector_store", "vector_store_interleaved": "vector_store"},
}
KINDS = (DEFAULT, *PARENTS)

FLAGS, FLOAT_FLAGS, PREDICATE = "flags", "fpscr", "vpr"
# Roles of read registers. `second` is the last register of arithmetic, `shifted` a register that the instruction shifts.
OPERAND, SECOND, SHIFTED, ACCUMULATE, ADDRESS, INDEX, DATA, CONDITION = ROLES = (
    *("operand", "second", "shifted", "accumulate", "address", "index", "data", "condition"),
)
RESULT, UPDATE, STATUS = RESULTS = ("result", "update", "status")  # roles of written registers: a value, an address, flags


class Work(NamedTuple):
    """The work of one instruction in a pipeline: its `kind`, (register, role) of each register that it reads and writes, the
    words that it moves to or from memory, its bytes, whether it is `conditional`, and whether it may jump."""

    kind: str
    reads: tuple[tuple[str, str], ...]
    writes: tuple[tuple[str, str], ...]
    words: int = 0
    size_bytes: int = 4
    conditional: bool = False
    jumps: bool = False
    place: tuple[str, int] | None = None  # (base register, offset in bytes) of a memory access

    @property
    def has_index(self) -> bool:
        """Whether its address is a sum of two registers."""
        return any(role == INDEX for _, role in self.reads)

    @property
    def sets_flags(self) -> bool:
        """Whether it writes the flags."""
        return (FLAGS, STATUS) in self.writes

    @property
    def updates_address(self) -> bool:
        """Whether it writes its address register."""
        return any(role == UPDATE for _, role in self.writes)
