# SPDX-License-Identifier: MIT
"""The text of float32 matrix products: the columns of the second matrix lie in the lanes, the values of the first are scalars.

Three rows and eight columns at a time keep six vectors of sums; two values of each row are loaded at once: 20 instructions for 48
multiply-accumulates. A rest of four rows is twice two, as one row takes half as many again.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import WORD_REACH, Assembler, c_function, function, walk

LANES, WORD = 4, 4
MOST_SUMS = 6  # vectors
DOUBLE_REACH = 1020  # of the immediate offsets of LDRD
SCALARS = (("r4", "r5"), ("r6", "r7"), ("r8", "r9"))  # two values of each row
ROWS = ("r0", "r10", "r11")


@dataclass(frozen=True)
class Rows:
    """So many rows, up to three, of `inner` values times a matrix [inner][columns]."""

    rows: int
    inner: int
    columns: int

    @property
    def name(self) -> str:
        return f"aidge_helium_product_{self.rows}x{self.inner}x{self.columns}"

    @property
    def vectors(self) -> int:
        """At a time; as even as whole blocks allow."""
        whole, most = -(-self.columns // LANES), MOST_SUMS // self.rows
        return -(-whole // -(-whole // most))

    def text(self) -> str:
        emit = Assembler()
        emit.enter()
        for row in range(1, 1 if self._has_one_pointer else self.rows):
            emit.add(ROWS[row], "r0", row * WORD * self.inner)
        if self.inner > 1:
            emit(f"movw r3, #{self.inner // 2}", why="pairs of values")
        blocks, rest = divmod(self.columns, LANES * self.vectors)
        if blocks > 1:
            emit(f"movw r12, #{blocks}")
            emit.label(1)
        if blocks:
            self._block(emit, self.vectors, 0, 2)
        emit(*(["subs r12, #1", "bne 1b"] if blocks > 1 else []))
        if rest:
            self._block(emit, -(-rest // LANES), rest % LANES, 3)
        emit.leave()
        purpose = f"{self.rows} row{'s' * (self.rows > 1)} of {self.inner} values times {self.inner} x {self.columns}."
        return function(self.name, purpose, "const float *a, const float *b, float *y", emit.lines)

    @property
    def _has_one_pointer(self) -> bool:
        """Whether the other rows are near enough to the first."""
        return (self.rows - 1) * WORD * self.inner <= DOUBLE_REACH

    def _block(self, emit: Assembler, vectors: int, lanes: int, label: int) -> None:
        """The columns of so many vectors, the last one of `lanes` lanes if that is not 0."""
        sums = [f"q{2 + number}" for number in range(self.rows * vectors)]
        if lanes:
            emit(f"movs r4, #{lanes}", "vctp.32 r4")
        emit(*(f"vmov.i32 {register}, #0" for register in sums))
        if self.inner > 1:
            emit("dls lr, r3")
            emit.label(label)
            self._values(emit, sums, vectors, lanes, 2)
            emit(f"le lr, {label}b")
        if self.inner % 2:
            self._values(emit, sums, vectors, lanes, 1)
        for pointer in ROWS[: 1 if self._has_one_pointer else self.rows]:
            emit.add(pointer, pointer, -WORD * self.inner)
        emit.add("r1", "r1", LANES * WORD * vectors - WORD * self.inner * self.columns)
        places = [WORD * (row * self.columns + LANES * vector) for row in range(self.rows) for vector in range(vectors)]
        accesses, end = walk("r2", 0, places, WORD_REACH, LANES * WORD * vectors)
        for number, access in enumerate(accesses):
            emit.add("r2", "r2", access.before)
            self._access(emit, "vstrw", sums[number], access.address, lanes > 0 and number % vectors == vectors - 1)
        emit.add("r2", "r2", end)

    def _values(self, emit: Assembler, sums: list[str], vectors: int, lanes: int, count: int) -> None:
        """One value of each row, or two, times the vectors of as many rows of the second matrix."""
        for row in reversed(range(self.rows)):
            first, second = SCALARS[row]
            registers = f"ldrd {first}, {second}" if count == 2 else f"ldr {first}"
            is_far = row > 0 and self._has_one_pointer
            address = f"[r0, #{row * WORD * self.inner}]" if is_far else f"[{ROWS[row]}], #{count * WORD}"
            emit(f"{registers}, {address}")
        places = [WORD * (value * self.columns + LANES * vector) for value in range(count) for vector in range(vectors)]
        accesses, end = walk("r1", 0, places, WORD_REACH, count * WORD * self.columns)
        for number, access in enumerate(accesses):
            value, vector = divmod(number, vectors)
            emit.add("r1", "r1", access.before)
            self._access(emit, "vldrw", f"q{number % 2}", access.address, lanes > 0 and vector == vectors - 1)
            for row in range(self.rows):
                emit(f"vfma.f32 {sums[row * vectors + vector]}, q{number % 2}, {SCALARS[row][value]}")
        emit.add("r1", "r1", end)

    @staticmethod
    def _access(emit: Assembler, operation: str, register: str, address: str, is_masked: bool) -> None:
        size = "u32" if operation == "vldrw" else "32"
        emit(*(["vpst"] if is_masked else []), f"{operation}{'t' * is_masked}.{size} {register}, {address}")


def parts_of(rows: int) -> dict[int, int]:
    """How many times three, two and one row make so many."""
    pairs = (0, 2, 1)[rows % 3] if rows > 1 else 0
    found = {3: (rows - 2 * pairs) // 3, 2: pairs, 1: int(rows == 1)}
    return {size: count for size, count in found.items() if count}


def texts_of(rows: int, inner: int, columns: int) -> tuple[str, tuple[str, ...]]:
    """The function for all batches, and the C texts that it needs."""
    name, parts = f"aidge_helium_matmul_float32_{rows}x{inner}x{columns}", parts_of(rows)
    body = [
        "const int8_t *a = (const int8_t *)first;",
        "const int8_t *b = (const int8_t *)second;",
        "int32_t place[4] = {0, 0, 0, 0};",
        "do {",
        "    const float *row = (const float *)(const void *)a;",
        "    const float *const matrix = (const float *)(const void *)b;",
        *(["    int32_t left;"] if max(parts.values()) > 1 else []),
    ]
    for size, count in parts.items():
        lines = [
            f"{Rows(size, inner, columns).name}(row, matrix, output);",
            f"row += {size * inner};",
            f"output += {size * columns};",
        ]
        if count > 1:
            lines = [f"for (left = {count}; left > 0; left--) {{", *(f"    {line}" for line in lines), "}"]
        body += [f"    {line}" for line in lines]
    body += [
        "} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &a, &b) != 0);",
    ]
    parameters = "const float *first, const float *second, float *output, const aidge_kit_product_float32 *shape"
    return name, (*(Rows(size, inner, columns).text() for size in parts), c_function(name, parameters, body))
