# SPDX-License-Identifier: MIT
"""int8 softmax of a few rows of a few classes, whose values stay in registers."""

from __future__ import annotations

LONGEST_IN_REGISTERS = 8  # values of a row: two vectors, so no register of the caller's


def few_rows_text(name: str, length: int) -> str:
    """Where a row is longer than a vector, the second one holds its last four values: some stand in both."""
    lines = ["movs %[farthest], #0", "dls lr, %[rows]"]
    lines += [f"mov %[largest], #{length}", "vctp.32 %[largest]"] if length < 4 else []
    lines += ["1:", *_row(length), "le lr, 1b"]
    statements = "\n                     ".join(f'"{line}\\n"' if line == "1:" else f'"{line}\\n\\t"' for line in lines)
    return _TEXT.format(name=name, length=length, statements=statements)


def _row(length: int) -> list[str]:
    vectors = (0, 1) if length > 4 else (0,)
    lines = ["mvn %[largest], #127", *_largest(length), "sub %[largest], %[exponentials], %[largest], lsl #2"]
    lines += ["add %[largest], #4 * 255", *(["vpst"] if length < 4 else [])]
    lines += [f"vldrw{_then(length)}.u32 q{2 + vector}, [%[largest], q{vector}, uxtw #2]" for vector in vectors]
    lines += [f"vcvt.f32.u32 q{2 + vector}, q{2 + vector}" for vector in vectors]
    lines += [*_total(length), "vldr s1, [%[numbers], #4]", "vdiv.f32 s0, s1, s0", "vmov %[largest], s0"]
    lines += [f"vmul.f32 q{2 + vector}, q{2 + vector}, %[largest]" for vector in vectors]
    lines += ["ldr %[unit], [%[numbers], #8]", "ldrd %[largest], %[rounding], [%[numbers], #12]"]
    for vector in reversed(vectors):
        lines += [f"vadd.f32 q0, q{2 + vector}, %[rounding]", "vsub.f32 q1, q0, %[rounding]", f"vabd.f32 q1, q1, q{2 + vector}"]
        lines += [f"vfma.f32 q1, q{2 + vector}, %[unit]", "vmaxnmv.f32 %[farthest], q1"]
        lines += ["vdup.32 q1, %[largest]", "vmin.s32 q0, q0, q1", *(["vpst"] if length < 4 else [])]
        lines += [f"vstrb{_then(length)}.32 q0, [%[y]], #{length}" if vector == 0 else f"vstrb.32 q0, [%[y], #{length - 4}]"]
    return lines


def _then(length: int) -> str:
    """Behind the name of what reads, compares or writes only lanes of the row."""
    return "t" if length < 4 else ""


def _largest(length: int) -> list[str]:
    then = _then(length)
    lines = [f"vldrb{then}.s32 q0, [%[x]], #{length}", f"vmaxv{then}.s32 %[largest], q0"]
    if length < 4:
        return ["vpstt", *lines]
    return [f"vldrb.s32 q1, [%[x], #{length - 4}]", *lines, "vmaxv.s32 %[largest], q1"] if length > 4 else lines


def _total(length: int) -> list[str]:
    """The sum in s0 of all lanes of q2 (s8 to s11), and of the last ones of q3 (s12 to s15), which q2 has not."""
    if length == 8:
        return ["vadd.f32 q0, q2, q3", *(f"vadd.f32 s0, s0, s{place}" for place in (1, 2, 3))]
    first, *others = (*range(8, 8 + min(length, 4)), *range(20 - length, 16))
    return [f"vmov.f32 s0, s{first}", *(f"vadd.f32 s0, s0, s{place}" for place in others)]


_TEXT = """/* Softmax of few rows of {length} int8 values as softmax_exactly.h has it, in float32 where that decides all of them.
 * Output and input share no bytes. */
static void {name}(const int8_t *input, int8_t *output, const uint32_t *exponentials, const int32_t *numbers, int32_t rows)
{{
#if AIDGE_HELIUM_ASSEMBLY
    const int8_t *x = input;
    int8_t *y = output;
    uint32_t farthest, largest, unit, rounding; /* floats as their bits */
    __asm__ volatile({statements}
                     : [x] "+&l"(x), [y] "+&l"(y), [farthest] "=&l"(farthest), [largest] "=&r"(largest), [unit] "=&r"(unit),
                       [rounding] "=&r"(rounding)
                     : [exponentials] "r"(exponentials), [numbers] "r"(numbers), [rows] "r"(rows)
                     : "lr", "cc", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "memory");
    if (farthest >= AIDGE_HELIUM_SOFTMAX_DECIDED_BITS) {{
        aidge_helium_softmax_exactly(input, output, exponentials, numbers, rows, 1, {length});
    }}
#else
    aidge_helium_softmax_exactly(input, output, exponentials, numbers, rows, 1, {length});
#endif
}}"""
