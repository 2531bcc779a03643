# SPDX-License-Identifier: MIT
"""Small C programs for boards: what the tests of linking, checking and emulation build."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy
import pytest

from aidge_build.base import machine
from aidge_build.base.version import CLAIM_VERSION
from aidge_build.boards import Board, load_board
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.shared import int8_model, vectors

ROOT = Path(__file__).resolve().parents[1]
# The firmware projects of this repository; some build systems' examples build the same firmware in another way.
EXAMPLES = tuple(sorted(script.parent.name for script in ROOT.glob("examples/*/SConscript")))
# The firmware of an example runs hundreds of inputs; `build_model` makes one that runs one.
EXAMPLE_MODELS = {"digits.onnx": ROOT / "examples" / "digits" / "digits.onnx"}

needs_cross_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
needs_cross_cplusplus = pytest.mark.skipif(
    machine.CROSS_CPLUSPLUS.version() is None, reason=f"needs {' '.join(machine.CROSS_CPLUSPLUS.packages)}"
)

needs_qemu = pytest.mark.skipif(not shutil.which("qemu-system-arm"), reason="needs qemu-system-arm")

needs_riscv = pytest.mark.skipif(
    any(tool.version() is None for tool in machine.FOR_RISCV),
    reason=f"needs {' '.join(package for tool in machine.FOR_RISCV for package in tool.packages)}",
)

SHA256 = "ab" * 32


def constant(symbol: str = "kws_fc_weights", content: bytes = bytes([3]) * 64, alignment: int = 1) -> dict:
    """What a claim says of an array of weights."""
    digest = hashlib.sha256(content).hexdigest()
    return {"symbol": symbol, "size_bytes": len(content), "alignment": alignment, "sha256": digest}


def state(model: str, size_bytes: int) -> dict:
    """What a claim says of the array of a state."""
    return {"symbol": f"{model}_state", "size_bytes": size_bytes, "alignment": 1, "region": None, "memory": None}


CLAIM = {
    "model": "kws",
    "model_sha256": SHA256,
    "cpu": "",
    "arenas": [{"symbol": "kws_arena", "size_bytes": 512, "alignment": 1, "region": None, "memory": None}],
    "arena_bytes": 512,
    "state": None,
    "kept": [],
    "interface": "",
    "code": "",
    "weights_bytes": 64,
    "weights": [constant()],
    "functions": ["kws_run"],
    "layers": ["kws_conv", "kws_fc"],
    "peak_bytes": 512,
    "tool": "test",
}


def arena(**changes) -> dict:
    """What a claim says where its arena differs from that of CLAIM."""
    return {"arenas": [{**CLAIM["arenas"][0], **changes}], "arena_bytes": changes.get("size_bytes", 512)}


def note(claim: dict, version: int = CLAIM_VERSION) -> str:
    """The claim as top-level assembler, as generated models carry it."""
    text = json.dumps(claim, sort_keys=True, separators=(",", ":"))
    descriptor = version.to_bytes(2, "little") + len(text).to_bytes(4, "little") + text.encode()
    numbers = ",".join(str(byte) for byte in descriptor)
    return f"""__asm__(".pushsection .note.aidge,\\"\\",%note\\n.balign 4\\n.long 6, {len(descriptor)}, 1\\n"
        ".asciz \\"aidge\\"\\n.balign 4\\n.byte {numbers}\\n.balign 4\\n.popsection\\n"
        ".global aidge_kws__arena_bytes\\n.set aidge_kws__arena_bytes, {claim["arena_bytes"]}\\n");"""


def model(
    region: str = "", arena_bytes: int = 512, weights: str = "const", claim: dict | None = None, version: int = CLAIM_VERSION
) -> str:
    """A hand-written "model" of two layers that share a kernel, and a main that runs it twice and prints 64 * 3 * 2."""
    place = f'__attribute__((section(".bss.aidge_{region}.kws"), aligned(16)))' if region else ""
    return f"""
#include "semihosting.h"
{note({**CLAIM, **(claim or {})}, version)}
static uint8_t kws_arena[{arena_bytes}] {place};
{weights} int8_t kws_fc_weights[64] = {{ {",".join(["3"] * 64)} }};
__attribute__((noinline)) static void kernel(uint8_t *data, int step)
{{ for (int index = 0; index < 64; index++) data[index] = (uint8_t)(data[index] + step + (index & 3 ? 0 : 1)); }}
__attribute__((noinline, noclone)) static void kws_conv(void) {{ kernel(kws_arena, 1); }}
__attribute__((noinline, noclone)) static int kws_fc(void)
{{ int sum = 0; kernel(kws_arena, -1); kernel(kws_arena, 0);
  for (int index = 0; index < 64; index++) sum += kws_fc_weights[index]; return sum; }}
__attribute__((noinline)) int kws_run(void) {{ kws_conv(); return kws_fc() + (kws_arena[1] != 0); }}
int main(void) {{
    int sum = kws_run();
    semihosting_write_integer(sum + kws_run());
    semihosting_write0("\\n");
    return 0;
}}
"""


def build(board: str | Board, text: str, folder: Path, *, flags: tuple[str, ...] = (), name: str = "app") -> Path:
    """The ELF file of a one-file program."""
    source = folder / f"{name}.c"
    source.write_text(text)
    found = load_board(board) if isinstance(board, str) else board
    return build_program(found, [source], folder / f"{name}.elf", work_folder=folder / "objects", extra_flags=flags)


def build_example(name: str, board: Board, folder: Path, *, flags: tuple[str, ...] = (), board_path: Path | None = None) -> Path:
    """The ELF file of an example, with the sources that its user builds; the plans of its models are beside it."""
    example = ROOT / "examples" / name
    where = ["--board", board.name, *(["--board-path", board_path] if board_path else [])]
    for model_file in sorted(example.glob("*.onnx")):
        compiled = aidge_build("compile", model_file, "--name", model_file.stem, "--out", folder, *where)
        assert compiled.exit_code == 0, compiled.stderr
    return build_program(
        board,
        [*sorted(example.glob("*.c")), *sorted(folder.glob("*.c"))],
        folder / "app.elf",
        work_folder=folder / "objects",
        include_folders=[folder],
        extra_flags=flags,
    )


def build_model(name: str, board: Board, folder: Path, *, flags: tuple[str, ...] = ()) -> Path:
    """The ELF file of a program that runs a model once: one of EXAMPLE_MODELS, or one that lies beside the checkout."""
    if name in EXAMPLE_MODELS:
        path, stored = EXAMPLE_MODELS[name], {"x": numpy.zeros((1, 1, 1, 8, 8), numpy.int8)}
    else:
        path, stored = (
            int8_model(name),
            {key: value[:1] if value.ndim else value for key, value in numpy.load(vectors(name)).items()},
        )
    numpy.savez(folder / "io.npz", **stored)
    verified = aidge_build(
        "verify",
        path,
        "--board",
        board.name,
        "--io-data",
        folder / "io.npz",
        "--keep",
        folder,
        *(f"--flag={flag}" for flag in flags),
    )
    assert verified.exit_code == 0, verified.stderr
    (elf,) = folder.glob("*.elf")
    return elf
