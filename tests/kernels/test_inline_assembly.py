# SPDX-License-Identifier: MIT
"""Every inline assembly assembles whatever registers the compiler has left for its operands.

Each is called where many values live across it, with low or high registers taken away, with and without a frame pointer. In a
naked function the registers are written down, and the tests of the kernels run it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import helium_harness
import pytest

from aidge_build.build.emit.kernels import kernel_text

LIVE = 14
INLINE = "static inline __attribute__((always_inline))"
CORES = {
    "cortexm": ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "helium": ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
}
MEAN = ("j = aidge_kit_level_of_sum(aidge_kit_add(aidge_kit_add_values(f, (const int8_t *)q, i, j, m), f), i, m);",)
LOG_MEL = ("j = aidge_kit_add_times_low(aidge_kit_times_high(i, u), aidge_kit_times_low(j, u), u);",)
# The function with operands asm, and a call of it. p, q: pointers to bytes; i, j: numbers; u: unsigned; f: a float.
CALLS = {
    "cortexm": {
        "core/copies.h": ("aidge_cortexm_copy_bytes(p, q, i);",),
        "core/lanes.h": ("u = aidge_cortexm_add_odd_bytes(u, (uint32_t)j);", "j = aidge_cortexm_int8(i);"),
        "windows/avgpool2d_int8.h": (
            "aidge_cortexm_avgpool2d_int8((int8_t *)p, (int8_t *)p + j, m, (const aidge_cortexm_means *)s);",
        ),
        "windows/pool_parts.h": ("aidge_cortexm_add_links_of_4((const int8_t *)q, i, j, (int32_t *)(void *)p, m);",),
        "kit/cells.h": ("f = *aidge_kit_again((float *)(void *)p);",),
        "kit/log_mel.h": LOG_MEL,
        "kit/mean.h": MEAN,
        "kit/exact.h": ("f = aidge_kit_exact(f);", "f = aidge_kit_exact_quotient(f, *g);"),
        "kit/requantize.h": ("j = aidge_kit_scale(i, f);",),
    },
    "helium": {
        "core/copies.h": ("aidge_helium_copy((int8_t *)p, (const int8_t *)q, i);", "aidge_helium_fill((int8_t *)p, i, j);"),
        "sums/columns_int16.h": (
            "aidge_helium_gather_int16((int16_t *)(void *)p, (const int16_t *)(const void *)q, (const uint16_t *)m, i);",
        ),
        "core/wide_rows.h": ("aidge_helium_wide_copy((int8_t *)p, (const int8_t *)q, i);",),
        "values/strided.h": (
            "aidge_helium_strided_bytes((int8_t *)p, i, (const int8_t *)q, 1, j);",
            "aidge_helium_strided_bytes((int8_t *)p, 1, (const int8_t *)q, i, j);",
            "aidge_helium_strided_bytes((int8_t *)p, 40, (const int8_t *)q, 1, j);",
            "aidge_helium_strided_bytes((int8_t *)p, 1, (const int8_t *)q, 40, j);",
            "aidge_helium_strided_words((float *)(void *)p, i, (const float *)(const void *)q, 1, j);",
            "aidge_helium_strided_words((float *)(void *)p, 1, (const float *)(const void *)q, i, j);",
        ),
        "values/table_int8.h": ("aidge_helium_table_int8((const int8_t *)q, (int8_t *)p, (const int8_t *)m, j);",),
        "core/straight.h": ("aidge_helium_straight_int8((const int8_t *)q, (int8_t *)p, m, j);",),
        "windows/avgpool2d.h": (
            "aidge_helium_means_of_window((int8_t *)p, (const int8_t *)q, (const aidge_helium_pool_window *)(const void *)m);",
        ),
        "windows/mean_int8.h": ("j = aidge_helium_int8(i);",),
        "windows/pool_parts.h": (
            "aidge_helium_add_links((const int8_t *)q, (int32_t *)(void *)p, *(aidge_kit_links *)(void *)p, i, m, j);",
        ),
        "windows/pixel_sums.h": ("vstrbq_s16((int8_t *)p, aidge_helium_add_8((const int8_t *)q, i, j));",),
        "kit/cells.h": ("f = *aidge_kit_again((float *)(void *)p);",),
        "kit/log_mel.h": LOG_MEL,
        "kit/mean.h": MEAN,
        "kit/exact.h": ("f = aidge_kit_exact(f);", "f = aidge_kit_exact_quotient(f, *g);"),
        "kit/requantize.h": ("j = aidge_kit_scale(i, f);",),
    },
}
STATEMENTS = {"cortexm": 14, "helium": 25}
REGISTERS = (
    (),
    ("-ffixed-r4", "-ffixed-r5", "-ffixed-r6", "-ffixed-r7"),
    ("-ffixed-r8", "-ffixed-r9", "-ffixed-r10", "-ffixed-r11", "-ffixed-r12"),
)
OPTIONS = list(product(("-O0", "-O1", "-O2", "-O3", "-Os"), ("-fomit-frame-pointer", "-fno-omit-frame-pointer"), REGISTERS))
OPTIONS = OPTIONS if "AIDGE_STRESS" in os.environ else OPTIONS[::7]  # each level, frame and set of registers
OPERANDS = re.compile(r'"[\s\\]*:\s')


def parts(library: str):
    files = {name: helium_harness.library(name).files for name in (library, "kit")}
    wanted = [path.split("/", 1) if path.startswith("kit/") else (library, path) for path in CALLS[library]]
    return kernel_text(files, [tuple(one) for one in wanted])


def source(library: str) -> str:
    text = parts(library)
    # A function that is not inlined has its operands where its caller passes them: in low registers.
    inlined = [re.sub(r"^static (?=\w+ \w+\()", f"{INLINE} ", part.text, flags=re.M) for part in text.files]
    lines = [f"#include {name}" for name in text.system_includes] + inlined
    live = [f"v{number}" for number in range(LIVE)]
    for number, call in enumerate(call for calls in CALLS[library].values() for call in calls):
        head = (
            f"void pressure_{number}(uint8_t *p, const uint8_t *q, int32_t i, int32_t j, uint32_t u, float f, const int32_t *m,"
            " const float *g, const aidge_kit_window2d *s, volatile int32_t *seen)"
        )
        before = [f"    const int32_t {name} = *seen;" for name in live]
        after = [f"    *seen = {name};" for name in reversed(live)]
        after += ["    *seen = (int32_t)u + i + j + (int32_t)f + *m + (int32_t)*g + s->groups + *p + *q;"]
        # Twice: what the first call leaves in its registers is wanted where the second needs others.
        lines += [f"{head};", head, "{", *before, f"    {call}", f"    {call}", *after, "}"]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("library", CALLS)
def test_it_assembles_with_any_registers(library, tmp_path):
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    path = tmp_path / "pressure.c"
    path.write_text(source(library))
    for optimization, frame, fixed in OPTIONS:
        gcc = ["arm-none-eabi-gcc", "-mthumb", *CORES[library], "-std=gnu99", "-w", optimization, frame, *fixed]
        done = subprocess.run([*gcc, "-c", path, "-o", tmp_path / "pressure.o"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), (optimization, frame, fixed)


def statements(library: str) -> list[tuple[str, list[tuple[str, str]], set[str]]]:
    """Of each inline assembly with operands: text, (name, constraint) of the operands, clobbers."""
    command = ["arm-none-eabi-gcc", "-mthumb", *CORES[library], "-E", "-P", "-"]
    text = subprocess.run(command, input=source(library), text=True, capture_output=True, check=True).stdout
    found = []
    for statement in re.findall(r"__asm__(?: volatile)?\s*\(((?:[^;\"]|\"(?:\\.|[^\"])*\")*)\)\s*;", text):
        code, *operands = re.split(
            r"\s:\s|\s:$", re.sub(r"(?<=[^\"])\"\s*\"", "", statement.replace('" :', '"\n:').strip() + " ")
        )
        given = [re.findall(r'(?:\[(\w+)\]\s*)?"([^"]*)"\s*\(', part) for part in operands[:2]]
        if any(given):
            clobbers = set(re.findall(r'"(\w+)"', operands[2])) if len(operands) > 2 else set()
            found.append((code.strip().strip('"'), [one for part in given for one in part], clobbers))
    return found


def registers(constraint: str, clobbered: set[str]) -> list[str]:
    """All that a constraint allows: AAPCS registers without stack pointer and program counter."""
    of = {
        "r": [f"r{number}" for number in range(13)] + ["lr"],
        "l": [f"r{number}" for number in range(8)],
        "t": [f"s{number}" for number in range(32)],
        "w": [f"q{number}" for number in range(8)],
    }[constraint.strip("+=&")]
    return [name for name in of if name not in clobbered]


@pytest.mark.parametrize("library", CALLS)
def test_each_register_that_a_constraint_allows_can_be_encoded(library, tmp_path):
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    lines, found = [".syntax unified", ".thumb"], statements(library)
    assert len(found) == STATEMENTS[library]
    for code, operands, clobbered in found:
        for turn in range(32):
            text, taken = code, set()
            for place, (name, constraint) in enumerate(operands):
                allowed = registers(constraint, clobbered)
                register = next(one for one in allowed[turn % len(allowed) :] + allowed if one not in taken)
                taken.add(register)
                text = (
                    re.sub(rf"%q?(\[{name}\]|{place}(?!\d))", register, text)
                    if name
                    else re.sub(rf"%q?{place}(?!\d)", register, text)
                )
            lines += text.replace("\\n", "\n").replace("\\t", "\t").split("\n")
    path = tmp_path / "all.s"
    path.write_text("\n".join(lines) + "\n")
    command = ["arm-none-eabi-gcc", "-mthumb", *CORES[library], "-c", path, "-o", tmp_path / "all.o"]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


@pytest.mark.parametrize("library", ["ref", *CALLS])
def test_each_function_with_operands_in_its_assembly_is_among_them(library):
    """And its clobbers name what the text writes: registers, flags, memory."""
    folder = Path(helium_harness.KERNELS)
    for path in sorted([*(folder / library).rglob("*.h"), *(folder / "kit").rglob("*.h")]):
        statements = re.findall(r"__asm__(?: volatile)?\((.*?)\);", path.read_text(), re.S)
        # A call in a naked function has an operand, but no register.
        with_operands = [text for text in statements if OPERANDS.search(text) and ': "i"(' not in text]
        name = str(path.relative_to(folder)).removeprefix(f"{library}/")
        assert not with_operands or library == "ref" or name in CALLS.get(library, ()), path
        for text in with_operands:
            code, operands = OPERANDS.split(text.replace("\\n", "\n").replace("\\t", "\t"), maxsplit=1)
            named = set(re.findall(r"\b(?:r\d+|lr|q\d)\b", code))
            assert named <= {f"q{int(name[1:]) // 2}" if name[0] == "d" else name for name in re.findall(r'"(\w+)"', operands)}, (
                path
            )
            assert '"memory"' in operands or not re.search(r"\b(v?ldr|v?str|ldm|stm)", code), path
            assert '"cc"' in operands or not re.search(r"\b(subs|adds|lsls|movs|cmp)\b", code), path
