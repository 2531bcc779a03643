# SPDX-License-Identifier: MIT
"""How many products a program makes in each layer: its instructions, weighed by their lanes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from aidge_build.run.emulate import qemu
from aidge_build.run.emulate.program import Program
from aidge_build.run.toolchain import find_host_compiler
from aidge_build.run.toolchain.build import build_shared_library

_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(\S+)")
# Of Armv7E-M and MVE (Armv7-M and Armv8-M Architecture Reference Manuals): products of one execution. Long products, of which
# sums are rescaled once for each result, are none of the layer's.
_PAIR = re.compile(r"sml[as]l?d|smu[as]d")
_SINGLE = re.compile(r"ml[as](\.|$)|muls?(\.|$)|sm(la|ul)[bt][bt]")
_VECTOR = re.compile(r"v(ml[as]|rmla|mul\.i|mull)")
_LANES = {"8": 16, "16": 8, "32": 4}

# The plug-in of the emulator, which counts products where it counted instructions.
_PLUGIN = """
#include "counting.h"
#include "qemu_rests.h"
static const struct {{ uint32_t address, products; }} made[] = {{ {table} }};
static uint32_t products_of_block(uint32_t address, uint32_t end)
{{
    uint32_t sum = 0, low = 0, high = sizeof made / sizeof *made;
    while (low < high) {{
        uint32_t middle = (low + high) / 2;
        if (made[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }}
    for (; low < sizeof made / sizeof *made && made[low].address < end; low++)
        sum += made[low].products;
    return sum;
}}
#define counting_block(state, start, instructions, begun, back) \\
    counting_block(state, start, products_of_block(block->address, block->end), begun, back)
#define rests_take_back(state, instructions) 0u /* instructions of blocks that are left: layers use no peripherals */
#include "qemu_plugin.c"
"""


def products_of(mnemonic: str) -> int:
    """How many products an instruction makes, 0 where it adds none to sums of 32 bits: smlad 2, vmladava.s8 16."""
    if _VECTOR.match(mnemonic):
        lanes = re.search(r"[suif](8|16|32)$", mnemonic)[1]
        return _LANES[lanes] // (2 if mnemonic.startswith("vmull") else 1)
    return 2 if _PAIR.match(mnemonic) else 1 if _SINGLE.match(mnemonic) else 0


def count_products(monkeypatch) -> None:
    """Runs in QEMU in this test report products as their instructions."""

    def run(program: Program):
        library = _plugin(Path(program.image.path), program.work_folder)
        monkeypatch.setattr(qemu, "shared_library", lambda _name, _folder: library)
        return run_in_qemu(program)

    run_in_qemu = qemu.run_in_qemu
    monkeypatch.setattr(qemu, "run_in_qemu", run)


def _plugin(elf: Path, folder: Path) -> Path:
    # The attributes of an ELF do not tell objdump that the core has MVE.
    words = ["arm-none-eabi-objdump", "-d", "-m", "armv8.1-m.main", "--no-show-raw-insn", elf]
    listing = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = ((match[1], products_of(match[2])) for match in map(_INSTRUCTION.match, listing.splitlines()) if match)
    table = ", ".join(f"{{0x{address}, {products}}}" for address, products in found if products)
    source = folder / "products.c"
    source.write_text(_PLUGIN.format(table=table))
    return build_shared_library(find_host_compiler(), source, folder / "products.so", Path(qemu.__file__).parent)
