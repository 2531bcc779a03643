# SPDX-License-Identifier: MIT
"""The C of the pages, checked by the compiler with the generated headers that it is written for."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.command import aidge_build
from tests.docs.blocks import ROOT, Block

FUNCTION = re.compile(r"^\w[^;{}=]*\)(?:\s*/\*[^\n]*\*/)?\n\{", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A model, the options that its header is generated with, and what the firmware around the snippet has declared."""

    model: str = ""
    options: tuple[str, ...] = ()
    before: str = ""


STATES = ("--state", "h_out=h", "--state", "c_out=c")
CASES = {
    "none": Case(),
    "kws": Case("kws"),
    "vad": Case("vad", STATES, "float frame[8], probability; void wait_for(float *frame);"),
    "vad-instances": Case("vad", (*STATES, "--arena", "caller"), "float frame_left[8], frame_right[8], p_left, p_right;"),
    "person-rows": Case(
        "person",
        ("--input", "rows", "--memory-model", "cascade"),
        "int8_t scores[2], line[96]; int row; void wait_for_line(int8_t *line);",
    ),
    "mask-rows": Case(
        "mask",
        ("--output", "rows", "--memory-model", "cascade"),
        "int8_t image[2048], line[64]; void show(const int8_t *line);",
    ),
    "mask-both": Case(
        "mask",
        ("--input", "rows", "--output", "rows", "--memory-model", "cascade"),
        "int8_t line[64], out[64]; int row; void wait_for_line(int8_t *line); void show(const int8_t *line);",
    ),
    "kws-dma": Case(
        "kws",
        ("--board", "stm32f7", "--dma", "on"),
        "void SCB_InvalidateDCache_by_Addr(void *from, int32_t bytes); void SCB_CleanDCache_by_Addr(void *from, int32_t bytes);",
    ),
    "kws-copies": Case(
        "kws",
        ("--board", "mps3-an547", "--copy-constants", "hook"),
        "void SCB_InvalidateDCache_by_Addr(void *from, int32_t bytes); int last_transfer; void wait_for(int transfer);"
        " void begin_transfer(void *to, const void *from, uint32_t bytes);",
    ),
    "kws-steps": Case(
        "kws",
        ("--board", "stm32f4", "--max-step", "50000"),
        "int waits; int8_t samples[KWS_INPUT_SIZE], scores[KWS_OUTPUT_SIZE]; void poll_the_bus(void), act_on(int8_t *);",
    ),
    "kws-weights": Case(
        "kws",
        ("--board", "stm32f4", "--update", "weights"),
    ),
    "kws-integrity": Case(
        "kws",
        ("--board", "stm32f4", "--integrity", "on"),
        "void constants_are_right(void), enter_safe_state(int code); void idle(void);",
    ),
    "keyword": Case("keyword", (), "int16_t hop[320]; void wait_for(int16_t *hop);"),
    "quality": Case("quality", (), "#include <stdio.h>\nfloat features[64];"),
}


def check_c(folder: Path, block: Block) -> None:
    """The compiler finds nothing in the block, in front of it the headers that it needs."""
    case = CASES[block.words.get("as", "none")]
    generated = folder / "headers" / block.words.get("as", "none")
    if case.model and not generated.exists():
        done = aidge_build("compile", folder / f"{case.model}.onnx", "--out", generated, *case.options)
        assert done.exit_code == 0, done.stderr
    source = translation_unit(block.text, case)
    words = ["gcc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-nested-externs"]
    words += [f"-I{generated}", f"-I{ROOT / 'kernels'}", "-xc", "-"]
    done = subprocess.run(words, input=source, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def translation_unit(text: str, case: Case) -> str:
    """Includes to the top; what is not a function of its own goes into one. `...` stands for code of the reader's."""
    text = re.sub(r"^\.\.\.$", "", text, flags=re.MULTILINE).replace("{ ... }", "{ }")
    if case.model:  # sizes are those of the header, whose model is another one than the page's
        text = re.sub(rf"^#define {case.model.upper()}_\w+ .*$", "", text, flags=re.MULTILINE)
    includes = "\n".join(re.findall(r"^#include .*$", text, re.MULTILINE))
    body = re.sub(r"^#include .*$", "", text, flags=re.MULTILINE)
    header = f'#include "{case.model}.h"' if case.model else ""
    if not FUNCTION.search(body):
        body = f"void snippet(void);\nvoid snippet(void)\n{{\n{body}\n}}"
    return f"#include <stdint.h>\n#include <stddef.h>\n{includes}\n{header}\n{case.before}\n{body}\n"


def names_of_macros(block: Block) -> list[str]:
    return re.findall(r"^#define (\w+) ", block.text, re.MULTILINE)
