# SPDX-License-Identifier: MIT
"""The text of float32 matrix products: the columns of the second matrix lie in the lanes, the values of the first are scalars.

Three rows and eight columns at a time keep six vectors of sums; two values of each row are loaded at once: 20 instructions for 48
multiply-accumulates. A rest of four rows is twice two, as one row takes half as many again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.assembly import BYTE_REACH, WORD_REACH, Assembler, c_function, function, walk

LANES, WORD = 4, 4
COLUMNS_AT_ONCE = 4
MOST_SUMS = 6  # vectors
DOUBLE_REACH = 1020  # of the immediate offsets of LDRD
SCALARS = (("r4", "r5"), ("r6", "r7"), ("r8", "r9"))  # two values of each row
ROWS = ("r0", "r10", "r11")


@dataclass(frozen=True)
class Second:
    """The elements of the second matrix: float32, or int8 levels that become float32 when they are loaded. `seen`: a parameter
    says how many rows of a cache are read."""

    is_bytes: bool = False
    seen: bool = False

    @property
    def name(self) -> str:
        """The part of a function's name that says so."""
        return "_bytes" * self.is_bytes + "_seen" * self.seen

    @property
    def c_type(self) -> str:
        return "int8_t" if self.is_bytes else "float"

    @property
    def parameters(self) -> str:
        return f"const float *a, const {self.c_type} *b, float *y" + ", int32_t seen" * self.seen

    @property
    def size(self) -> int:
        return 1 if self.is_bytes else WORD

    @property
    def load(self) -> str:
        return "vldrb.s32" if self.is_bytes else "vldrw.u32"

    @property
    def reach(self) -> int:
        return BYTE_REACH if self.is_bytes else WORD_REACH

    def converted(self, vector: str) -> list[str]:
        return [f"vcvt.f32.s32 {vector}, {vector}"] if self.is_bytes else []


@dataclass(frozen=True)
class Rows:
    """So many rows, up to three, of `inner` values times a matrix [inner][columns], with rows that begin `step` values apart."""

    rows: int
    inner: int
    columns: int
    step: int
    second: Second = Second()

    @property
    def name(self) -> str:
        sizes = f"{self.rows}x{self.inner}x{self.columns}" + f"_{self.step}" * (self.step != self.columns)
        return f"aidge_helium_product_{sizes}" + self.second.name

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
        if self.second.seen:
            emit(
                "mov r10, r0",
                "mov r11, r1",
                "and r6, r3, #1",
                "lsr r3, r3, #1",
                why="pairs of values, and whether there is one more",
            )
        elif self.inner > 1:
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
        return function(self.name, purpose, self.second.parameters, emit.lines)

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
        if self.second.seen:
            self._seen_values(emit, sums, vectors, lanes, label)
        else:
            self._all_values(emit, sums, vectors, lanes, label)
        places = [WORD * (row * self.columns + LANES * vector) for row in range(self.rows) for vector in range(vectors)]
        accesses, end = walk("r2", 0, places, WORD_REACH, LANES * WORD * vectors)
        for number, access in enumerate(accesses):
            emit.add("r2", "r2", access.before)
            self._access(emit, "vstrw.32", sums[number], access.address, lanes > 0 and number % vectors == vectors - 1)
        emit.add("r2", "r2", end)

    def _all_values(self, emit: Assembler, sums: list[str], vectors: int, lanes: int, label: int) -> None:
        """The sums of all values; the pointers move on to the next block."""
        if self.inner > 1:
            emit("dls lr, r3")
            emit.label(label)
            self._values(emit, sums, vectors, lanes, 2)
            emit(f"le lr, {label}b")
        if self.inner % 2:
            self._values(emit, sums, vectors, lanes, 1)
        for pointer in ROWS[: 1 if self._has_one_pointer else self.rows]:
            emit.add(pointer, pointer, -WORD * self.inner)
        emit.add("r1", "r1", self.second.size * (LANES * vectors - self.inner * self.step))

    def _seen_values(self, emit: Assembler, sums: list[str], vectors: int, lanes: int, label: int) -> None:
        """The sums of the values of one row that are seen: pairs, and one more if r6 says so."""
        emit(f"wls lr, r3, {label + 10}f")
        emit.label(label)
        self._values(emit, sums, vectors, lanes, 2)
        emit(f"le lr, {label}b")
        emit.label(label + 10)
        emit(f"cbz r6, {label + 20}f")
        self._values(emit, sums, vectors, lanes, 1)
        emit.label(label + 20)
        emit("mov r0, r10")
        emit.add("r11", "r11", self.second.size * LANES * vectors)
        emit("mov r1, r11")

    def _values(self, emit: Assembler, sums: list[str], vectors: int, lanes: int, count: int) -> None:
        """One value of each row, or two, times the vectors of as many rows of the second matrix."""
        for row in reversed(range(self.rows)):
            first, second = SCALARS[row]
            registers = f"ldrd {first}, {second}" if count == 2 else f"ldr {first}"
            is_far = row > 0 and self._has_one_pointer
            address = f"[r0, #{row * WORD * self.inner}]" if is_far else f"[{ROWS[row]}], #{count * WORD}"
            emit(f"{registers}, {address}")
        size = self.second.size
        places = [size * (value * self.step + LANES * vector) for value in range(count) for vector in range(vectors)]
        accesses, end = walk("r1", 0, places, self.second.reach, count * size * self.step)
        for number, access in enumerate(accesses):
            value, vector = divmod(number, vectors)
            emit.add("r1", "r1", access.before)
            self._access(emit, self.second.load, f"q{number % 2}", access.address, lanes > 0 and vector == vectors - 1)
            emit(*self.second.converted(f"q{number % 2}"))
            for row in range(self.rows):
                emit(f"vfma.f32 {sums[row * vectors + vector]}, q{number % 2}, {SCALARS[row][value]}")
        emit.add("r1", "r1", end)

    @staticmethod
    def _access(emit: Assembler, operation: str, register: str, address: str, is_masked: bool) -> None:
        name, size = operation.split(".")
        emit(*(["vpst"] if is_masked else []), f"{name}{'t' * is_masked}.{size} {register}, {address}")


def parts_of(rows: int) -> dict[int, int]:
    """How many times three, two and one row make so many."""
    pairs = (0, 2, 1)[rows % 3] if rows > 1 else 0
    found = {3: (rows - 2 * pairs) // 3, 2: pairs, 1: int(rows == 1)}
    return {size: count for size, count in found.items() if count}


@dataclass(frozen=True)
class Columns:
    """A row of `inner` values times `columns` columns that are stored in one piece each and begin `step` values apart."""

    inner: int
    columns: int
    step: int
    second: Second = Second()
    rows = 1

    @property
    def name(self) -> str:
        return f"aidge_helium_product_by_columns_{self.inner}x{self.columns}_{self.step}" + self.second.name

    def text(self) -> str:
        emit = Assembler()
        emit("%enter", f"movw %inner, #{self.inner}")
        blocks, rest = divmod(self.columns, COLUMNS_AT_ONCE)
        if blocks:
            if self.second.seen:
                emit("adds %blocks, %seen, #3", "lsrs %blocks, %blocks, #2")
            else:
                emit(*[f"movw %blocks, #{blocks}"] * (blocks > 1))
            emit.label("block")
            self._block(emit, COLUMNS_AT_ONCE, "value")
            emit(*["subs %blocks, %blocks, #1", "bne %block"] * (blocks > 1 or self.second.seen))
        if rest:  # not if rows are seen
            self._block(emit, rest, "last")
        emit("%leave")
        purpose = f"A row of {self.inner} values times {self.columns} columns that are stored {self.step} values apart."
        return function(self.name, purpose, self.second.parameters, emit.lines)

    def _block(self, emit: Assembler, count: int, label: str) -> None:
        """So many columns: four partial sums each, added up at the end."""
        read, size = LANES * -(-self.inner // LANES), self.second.size
        pointers = ["%b", *(f"%b{number}" for number in range(1, count))]
        for before, after in zip(pointers, pointers[1:]):
            emit.add(after, before, size * self.step)
        emit(*(f"vmov.i32 q{2 + number}, #0" for number in range(count)), "dlstp.32 lr, %inner")
        emit.label(label)
        emit("vldrw.u32 q0, [%a], #16")
        for number, pointer in enumerate(pointers):
            emit(f"{self.second.load} q1, [{pointer}], #{LANES * size}", *self.second.converted("q1"))
            emit(f"vfma.f32 q{2 + number}, q0, q1")
        emit(f"letp lr, %{label}")
        emit.add("%a", "%a", -WORD * read)
        emit.add("%b", "%b", size * (self.step * count - read))
        for number in range(count):
            one, two, three, four = (f"s{4 * (2 + number) + lane}" for lane in range(LANES))
            emit(f"vadd.f32 {one}, {one}, {two}", f"vadd.f32 {three}, {three}, {four}", f"vadd.f32 {one}, {one}, {three}")
        emit(*(f"vstr s{4 * (2 + number)}, [%y, #{WORD * number}]" for number in range(count)))
        emit.add("%y", "%y", WORD * count)


def texts_of(rows: int, inner: int, columns: int, second: Second = Second()) -> tuple[str, tuple[str, ...]]:
    """The function for all batches, and the C texts that it needs."""
    parts = {Rows(size, inner, columns, columns, second): count for size, count in parts_of(rows).items()}
    return batches_text(f"{rows}x{inner}x{columns}", parts)


def stored_texts_of(
    rows: int, inner: int, columns: int, steps: tuple[int, int], second: Second = Second()
) -> tuple[str, tuple[str, ...]]:
    """The same for a second matrix that is read as it is stored: `steps` are the distances of its rows and of its columns."""
    row_step, column_step = steps
    if column_step == 1:
        parts = {Rows(size, inner, columns, row_step, second): count for size, count in parts_of(rows).items()}
    else:
        parts = {Columns(inner, columns, column_step, second): rows}
    return batches_text(f"{rows}x{inner}x{columns}_of_{row_step}_{column_step}", parts)


def batches_text(suffix: str, parts: Mapping[Rows | Columns, int]) -> tuple[str, tuple[str, ...]]:
    """The function that computes the rows of all batches by these functions, each so many times, and the texts of all."""
    made, second = tuple(parts), next(iter(parts)).second
    matrix = "b" if second.is_bytes else "(const float *)(const void *)b"
    body = [
        "const int8_t *a = (const int8_t *)first;",
        f"const int8_t *b = {'second' if second.is_bytes else '(const int8_t *)second'};",
        "int32_t place[4] = {0, 0, 0, 0};",
        "do {",
        "    const float *row = (const float *)(const void *)a;",
        f"    const {second.c_type} *const matrix = {matrix};",
        *(["    int32_t left;"] if max(parts.values()) > 1 else []),
    ]
    if second.seen:
        by_columns = isinstance(next(iter(parts)), Columns)
        (part,) = parts
        rows = part.columns if by_columns else part.inner
        body.insert(2, f"const int32_t seen = aidge_kit_seen(position, bytes, {rows});")
        body += [
            f"    {part.name}(row, matrix, output, seen);",
            *([f"    aidge_kit_clear(output + seen, {rows} - seen);"] if by_columns else []),
            f"    output += {part.columns};",
        ]
        parts = {}
    for part, count in parts.items():
        lines = [
            f"{part.name}(row, matrix, output);",
            f"row += {part.rows * part.inner};",
            f"output += {part.rows * part.columns};",
        ]
        if count > 1:
            lines = [f"for (left = {count}; left > 0; left--) {{", *(f"    {line}" for line in lines), "}"]
        body += [f"    {line}" for line in lines]
    body += [
        "} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &a, &b) != 0);",
    ]
    name = f"aidge_helium_matmul_float32_{suffix}" + second.name
    sides = f"const float *first, const {second.c_type} *second"
    given = ", const void *position, float *output, int32_t bytes" if second.seen else ", float *output"
    parameters = f"{sides}{given}, const aidge_kit_product_float32 *shape"
    return name, (*(part.text() for part in made), c_function(name, parameters, body))
