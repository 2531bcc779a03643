# SPDX-License-Identifier: MIT
"""What is read from the text of a disassembler."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from aidge_build.contract.thumb.instruction import immediate, memory_operand, read_disassembly, register_bytes, register_list
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.jump_tables import THUMB1_SWITCHES, offsets, words
from aidge_build.prove.elf.link_map import read_memories
from aidge_build.prove.elf.overflow import read_overflows

TEXT = """
08000000 <f>:
 8000000:\tb5f0      \tpush\t{r4, r5, r6, r7, lr}
 8000002:\te92d 4ff8 \tstmdb\tsp!, {r3, r4, r5, r6, r7, r8, r9, sl, fp, lr}
 8000006:\ted2d 8b04 \tvpush\t{d8-d9}
 800000a:\t6803      \tldr\tr3, [r0, #0]
 800000c:\t6842      \tldr\tr2, [r0, #4]
 800000e:\t681b      \tldr\tr3, [r3, #0]
 8000010:\t5c5a      \tldrb\tr2, [r3, r1]
 8000012:\t1c58      \tadds\tr0, r3, #1
 8000014:\t6801      \tldr\tr1, [r0, #0]
 8000016:\t6041      \tstr\tr1, [r0, #4]
 8000018:\t5041      \tstr\tr1, [r0, r1]
 800001a:\t1c40      \tadds\tr0, r0, #1
 800001c:\t7001      \tstrb\tr1, [r0, #0]
 800001e:\te9d0 2300 \tldrd\tr2, r3, [r0]
 8000022:\te9c0 2302 \tstrd\tr2, r3, [r0, #8]
 8000026:\tfb92 f3f1 \tsdiv\tr3, r2, r1
 800002a:\tfba2 3401 \tumull\tr3, r4, r2, r1
 800002e:\tfb02 3101 \tmla\tr1, r2, r1, r3
 8000032:\tedd0 7a00 \tvldr\ts15, [r0]
 8000036:\ted90 7b02 \tvldr\td7, [r0, #8]
 800003a:\tee67 7a27 \tvmul.f32\ts15, s14, s15
 800003e:\teec7 7a27 \tvdiv.f32\ts15, s14, s15
 8000042:\teee7 7a27 \tvfma.f32\ts15, s14, s15
 8000046:\t2b00      \tcmp\tr3, #0
 8000048:\tbfcc      \tite\tgt
 800004a:\t3201      \taddgt\tr2, #1
 800004c:\t6802      \tldrle\tr2, [r0, #0]
 800004e:\t4288      \tcmp\tr0, r1
 8000050:\td1fa      \tbne.n\t8000048 <f+0x48>
 8000052:\tf7ff ffd5 \tbl\t8000000 <f>
 8000056:\t4798      \tblx\tr3
 8000058:\te8df f003 \ttbb\t[pc, r3]
 800005c:\te8df f013 \ttbh\t[pc, r3, lsl #1]
 8000060:\tf3ef 8310 \tmrs\tr3, PRIMASK
 8000064:\tf3bf 8f4f \tdsb\tsy
 8000068:\t4a01      \tldr\tr2, [pc, #4]\t@ (8000070 <f+0x70>)
 800006a:\tcc0f      \tldmia\tr4!, {r0, r1, r2, r3}
 800006c:\tc40f      \tstmia\tr4!, {r0, r1, r2, r3}
 800006e:\tbdf0      \tpop\t{r4, r5, r6, r7, pc}
 8000070:\t08000000 \t.word\t0x08000000
 8000074:\tf850 1b04 \tldr.w\tr1, [r0], #4
 8000078:\tf840 1d04 \tstr.w\tr1, [r0, #-4]!
 800007c:\tea54 9414 \t\t\t; <UNDEFINED> instruction: 0xea549414
 8000080:\tffff ffff \t<UNDEFINED> instruction: 0xffffffff
 8000084:\tea54 5f1d \t<UNDEFINED> instruction: 0xea545f1d
 8000088:\tea54 c50d \t<UNDEFINED> instruction: 0xea54c50d
 800008c:\tea55 a51f \t<UNDEFINED> instruction: 0xea55a51f
 8000090:\tea5e 5f0d \t<UNDEFINED> instruction: 0xea5e5f0d
 8000094:\tea5d 5f0d \t<UNDEFINED> instruction: 0xea5d5f0d
 8000098:\tea5f 5f0d \t<UNDEFINED> instruction: 0xea5f5f0d
 800009c:\tea54 ff0d \t<UNDEFINED> instruction: 0xea54ff0d
 80000a0:\tea54 a51e \t<UNDEFINED> instruction: 0xea54a51e
 80000a4:\tea5d a51d \t<UNDEFINED> instruction: 0xea5da51d
 80000a8:\tbf00      \tnop
"""
MAP = """
Memory Configuration

Name             Origin             Length             Attributes
FLASH            0x0000000008000000 0x0000000000010000 xr
RAM              0x0000000020000000 0x0000000000004000 xrw
ITCM             0x0000000000000000 0x0000000000001000
ROM2             0x0000000090000000 0x0000000000001000
PROGRAM          0x0000000000000000 0x0000000000001000
EEPROM_RAM       0x0000000000000000 0x0000000000001000
*default*        0x0000000000000000 0xffffffffffffffff

Linker script and memory map
OTHER            0x0000000000000000 0x0000000000001000 xr
"""
MESSAGES = """ld: region `RAM' overflowed by 12 bytes
ld: region `RAM' overflowed by 1 byte
ld.lld: error: section '.bss' will not fit in region 'FLASH': overflowed by 3 bytes
"""


def instructions() -> Iterator[str]:
    for instruction in read_disassembly(TEXT).values():
        target = "" if instruction.target is None else f" to {instruction.target:x}"
        yield f"{instruction.address:x} {instruction.size_bytes} {instruction.mnemonic} {instruction.operands}{target}"
    for operand in ("[r0]", "[r0, #4]", "[sp, #-8]!", "[r3, fp, lsl #2]", "[pc, #4]"):
        yield f"{operand}: {memory_operand(operand)}"
    for operand in ("{r4, r6-r8, lr}", "{d8-d11}", "{s16}", "{q4-q5}", "{ip, pc}"):
        registers = register_list(operand)
        yield f"{operand}: {registers} of {[register_bytes(register) for register in registers]}"
    for operand in ("#0", "#-12", "#0x1f", "#-0x10", "r0", "12", "#x"):
        yield f"{operand}: {immediate(operand)}"


def tables() -> Iterator[str]:
    """Jump tables of every kind: distances both ways, and their ends at code, at constants and outside of the function."""
    table, code = 0x1050, {at: None for at in range(0x1000, 0x1200, 2) if not 0x1050 <= at < 0x1060}
    for name, (width, signed, scale) in THUMB1_SWITCHES.items():
        for entries in (
            (8, 16, 20),
            (16, 20, 7),
            (128, 16),
            (256 - 8, 16, 3),
            (0xFFF8, 16, 0),
            (0xFFFFFFF8, 16, 17),
            (0x7F,),
            (7,),
            (),
        ):
            where = {table + width * index: entry for index, entry in enumerate(entries)}
            text = f"{name} {entries}"
            yield f"{text}: {read_table(lambda read, shape=(width, signed, scale): offsets(table, *shape, code, read), where)}"
    bytes_ = dict.fromkeys(range(table, table + 17), 9)
    yield f"17 bytes: {read_table(lambda read: offsets(table, 1, False, 2, code, read), bytes_)}"
    for entries in ((0x1003, 0x100B, 0x1011), (0x1002, 0x1052), (0x1002, 0x1180, 0x100B), (5,), ()):
        for place in (table, 0x104C, 0x2000):
            where = {place + 4 * index: entry for index, entry in enumerate(entries)}
            found = read_table(lambda read, at=place: words(at, lambda to: to < 0x1180, code, read), where)
            yield f"words at {place:x} {[f'{entry:x}' for entry in entries]}: {found}"


def read_table(work: Callable, memory: dict[int, int]) -> str:
    try:
        return " ".join(f"{target:x}" for target in work(lambda at, size: memory.get(at)))
    except Refusal as refusal:
        return str(refusal)


def linkers() -> Iterator[str]:
    yield from map(str, read_overflows(MESSAGES))
    yield from map(str, read_memories(MAP))
    yield str(read_memories("no table"))


@pytest.mark.parametrize("what", [instructions, tables, linkers], ids=lambda what: what.__name__)
def test_what_is_read_is_as_it_was(golden, what):
    golden(f"elf_{what.__name__}", {f"{what.__name__}.txt": ("\n".join(what()) + "\n").encode()})
