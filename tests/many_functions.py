# SPDX-License-Identifier: MIT
"""A firmware of many functions, as real ones are made of: what reads all of a program's code must be quick with it.

    python -m tests.many_functions FOLDER [COUNT]

writes FOLDER/main.c of COUNT (2,000) functions, which calls a model, and links it for stm32f4.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.small_model import small_model

BOARD = "stm32f4"
_HEAD = """
#include <stdint.h>
#include "model.h"
struct device { volatile uint32_t control, status, data, reserved[5], timing; };
struct item { struct item *next; int32_t key, values[6]; uint8_t kind, flags; };
static int32_t words[256]; static uint8_t bytes[512]; static struct item items[32];
#define DEVICE ((struct device *)0x40011000u)
#define VTOR (*(volatile uint32_t *)0xE000ED08u)
"""
_BODIES = (
    "for (i = 0; i < (n & 63); i++) {{ words[(i + {a}) & 255] += words[(i * {b}) & 255] >> {c}; }} r += words[{a}];",
    "for (at = items + {c}; at != 0 && r < {d}; at = at->next) {{ r += at->key * {b}; if (at->kind == {a}) break; }}",
    "switch ((n + r) & 7) {{ case 0: r += {a}; break; case 1: r ^= {b}; break; case 2: r *= {c}; break; case 3: r -= n; break;"
    " case 4: r = -r; break; case 5: r += bytes[{a}]; break; default: r |= 1; }}",
    "DEVICE->control = (DEVICE->control & ~(7u << {c})) | ((uint32_t)n & 7u) << {c}; while (DEVICE->status & {b}u) {{ r++; }}",
    "if (n > {a} && r < {d}) {{ bytes[(n + {b}) & 511] = (uint8_t)r; }} else if ((n ^ r) & {c}) {{ r = (r << 3) ^ n; }}",
    "items[{c}].values[{c} % 6] = n; items[{c}].flags |= {a} & 3; r += items[(n & 31)].values[2] / ({b} | 1);",
)


def source(count: int, seed: int = 1) -> str:
    """The C of `count` functions, each of which calls up to two others, and a main that calls a model and the first one."""
    drawn = random.Random(seed)
    parts = [_HEAD, *(f"int32_t f{index}(int32_t n, int32_t r);\n" for index in range(count))]
    for index in range(count):
        number = {
            "a": drawn.randint(1, 200),
            "b": drawn.randint(1, 97),
            "c": drawn.randint(1, 13),
            "d": drawn.randint(300, 90000),
        }
        body = " ".join(drawn.choice(_BODIES).format(**number) for _ in range(drawn.randint(1, 4)))
        called = [one for one in (2 * index + 1, 2 * index + 2) if one < count]
        calls = " ".join(f"r += f{one}(r, n);" for one in called)
        parts.append(
            f"__attribute__((noinline)) int32_t f{index}(int32_t n, int32_t r)\n"
            f"{{ int32_t i = 0; struct item *at = items; (void)i; (void)at; {body} {calls} return r + {index}; }}\n"
        )
    parts.append("static int8_t x[MODEL_INPUT_SIZE], y[MODEL_OUTPUT_SIZE];\n")
    parts.append("static void __attribute__((noinline)) moved(void) { VTOR = 0x08000000u; }\n")
    parts.append("int main(void) { moved(); return model_run(x, y) + f0(x[0], y[0]) == 7; }\n")
    return "".join(parts)


def linked(folder: Path, count: int = 2_000) -> Path:
    """The program; its objects are in `objects` of the folder, and the plan of its model beside them."""
    (folder / "model.onnx").write_bytes(small_model())
    compiled = aidge_build("compile", folder / "model.onnx", "--name", "model", "--out", folder, "--board", BOARD)
    assert compiled.exit_code == 0, compiled.stderr
    (folder / "main.c").write_text(source(count))
    sources = [folder / name for name in ("main.c", "model.c", "model_weights.c")]
    return build_program(
        load_board(BOARD),
        sources,
        folder / "app.elf",
        work_folder=folder / "objects",
        include_folders=[folder],
        extra_flags=("-Os",),
    )


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(linked(Path(sys.argv[1]), int((sys.argv[2:] or ["2000"])[0])))
