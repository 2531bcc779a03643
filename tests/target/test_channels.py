# SPDX-License-Identifier: MIT
"""What firmware says by the ITM, by RTT and by a UART is shown, whatever its buffers hold."""

from __future__ import annotations

import pytest

from aidge_build.run.emulate.channels import Channels, Itm, Rtt, control_blocks_in
from tests.command import aidge_build
from tests.programs import build, needs_cross_compiler, needs_qemu

BOARD = "mps2-an386"
ITM = """#define ITM(offset) (*(volatile unsigned *)(0xE0000000u + (offset)))
/* As CMSIS has it: it asks whether the ITM and the port are enabled, and waits until there is room. */
static void say(int port, char c) {
    if ((ITM(0xE80) & 1) && (ITM(0xE00) >> port & 1)) {
        while (ITM(4 * port) == 0) {}
        *(volatile unsigned char *)(0xE0000000u + 4 * port) = c;
    }
}
int main(void) {
    for (const char *c = "hello\\nITM\\n"; *c; c++) say(0, *c);
    *(volatile unsigned short *)0xE0000004u = 0x4241;
    *(volatile unsigned *)0xE0000004u = 0x46454443;
    ITM(0xE00) = 1;
    say(1, 'x');
    ITM(0xE80) = 0;
    say(0, 'y');
    return 0;
}
"""
# The smallest program that speaks RTT: it drops what does not fit, as most do, so the host has to be quick.
RTT = """struct buffer {{ const char *name; char *start; unsigned size, write; volatile unsigned read; unsigned flags; }};
static char space[8], more[8];
struct {{ char id[16]; int up, down; struct buffer buffers[3]; }} {name} __attribute__((used));
static void put(struct buffer *buffer, char c) {{
    unsigned next = (buffer->write + 1) % buffer->size;
    if (next == buffer->read) return;
    buffer->start[buffer->write] = c;
    __asm__ volatile("dmb" : : : "memory");
    buffer->write = next;
}}
static void say(struct buffer *buffer, const char *text) {{ while (*text) put(buffer, *text++); }}
int main(void) {{
    static const char id[] = "SEGGER RTT";
    {name}.up = 2; {name}.down = 1;
    {name}.buffers[0] = (struct buffer){{ "Terminal", space, sizeof space, 0, 0, 0 }};
    {name}.buffers[1] = (struct buffer){{ "Log", more, sizeof more, 0, 0, 0 }};
    for (int i = 0; i < 10; i++) {name}.id[i] = id[i];
    say(&{name}.buffers[0], "{text}"); say(&{name}.buffers[1], "log\\n");
    return 0;
}}
"""


def channels(tmp_path, code: str, *words: str, name: str = "app", flags: tuple[str, ...] = ()):
    elf = build(BOARD, code, tmp_path, name=name, flags=flags)
    result = aidge_build("run", elf, "--board", BOARD, *words, "--json")
    assert result.exit_code == 0, result.stderr
    printed = aidge_build("run", elf, "--board", BOARD, *words).stdout
    return result.json["channels"], printed


@needs_cross_compiler
def test_the_ports_of_the_itm_are_shown_as_a_debugger_would(tmp_path):
    said, printed = channels(tmp_path, ITM, "--emulator", "unicorn")
    assert said == {"itm0": "hello\nITM\n", "itm1": "ABCDEF"}
    assert printed.startswith("itm0: hello\nitm0: ITM\nitm1: ABCDEF\n")


@needs_cross_compiler
def test_rtt_is_emptied_at_once_so_that_nothing_is_dropped(tmp_path):
    text = "a line that is longer than the buffer\\nand another"
    said, printed = channels(tmp_path, RTT.format(name="_SEGGER_RTT", text=text), "--emulator", "unicorn")
    assert said == {"rtt0": "a line that is longer than the buffer\nand another", "rtt1": "log\n"}
    assert printed.startswith("rtt0: a line that is longer than the buffer\nrtt0: and another\nrtt1: log\n")


@needs_cross_compiler
def test_without_a_symbol_the_block_is_found_by_its_name_when_the_program_stopped(tmp_path):
    said, _ = channels(tmp_path, RTT.format(name="anything", text="short"), "--emulator", "unicorn")
    assert said == {"rtt0": "short", "rtt1": "log\n"}


@needs_qemu
@needs_cross_compiler
def test_the_uart_of_a_machine_of_qemu_is_shown(tmp_path):
    code = """#define UART(offset) (*(volatile unsigned *)(0x40004000u + (offset)))
int main(void) {
    UART(16) = 16;
    UART(8) = 1;
    for (const char *c = "by the UART\\r\\n"; *c; c++) {
        while (UART(4) & 1) {}
        UART(0) = *c;
    }
    return 0;
}
"""
    said, printed = channels(tmp_path, code, "--emulator", "qemu")
    assert said == {"uart": "by the UART\r\n"} and printed.startswith("uart: by the UART\n")


@needs_qemu
@needs_cross_compiler
def test_that_rtt_is_not_read_in_qemu_is_said(tmp_path):
    said, printed = channels(tmp_path, RTT.format(name="_SEGGER_RTT", text="short"), "--emulator", "qemu")
    assert said == {} and printed.startswith("what the program says by RTT is not read in QEMU: --emulator unicorn\n")
    _, other = channels(tmp_path, RTT.format(name="anything", text="short"), "--emulator", "qemu", name="other")
    assert "RTT" not in other


class Memory:
    """A control block with two up buffers of 8 bytes at 0x100 and 0x140, in 512 bytes at 0."""

    def __init__(self, name: bytes = b"SEGGER RTT"):
        self.bytes = bytearray(512)
        self.bytes[0:16] = name.ljust(16, b"\0")
        self.put(16, 2)
        for buffer, start in enumerate((0x100, 0x140)):
            self.put(24 + 24 * buffer + 4, start)
            self.put(24 + 24 * buffer + 8, 8)

    def put(self, address: int, value: int) -> None:
        self.bytes[address : address + 4] = value.to_bytes(4, "little")

    def word(self, address: int) -> int:
        return int.from_bytes(self.bytes[address : address + 4], "little")

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.bytes[address : address + size])

    def write(self, address: int, content: bytes) -> None:
        self.bytes[address : address + len(content)] = content


def rtt_of(memory: Memory) -> tuple[Rtt, Channels]:
    said = Channels()
    return Rtt(said, memory.read, memory.write), said


def test_what_wraps_around_the_end_of_a_buffer_is_read_in_order():
    memory = Memory()
    memory.bytes[0x100:0x108] = b"cd....ab"
    memory.put(24 + 16, 6)
    rtt, said = rtt_of(memory)
    rtt.written(0, 24 + 12, 2)
    assert said.texts == (("rtt0", "abcd"),) and memory.word(24 + 16) == 2
    rtt.written(0, 24 + 12, 2)
    assert said.texts == (("rtt0", "abcd"),)


@pytest.mark.parametrize("address", [0, 20, 24, 24 + 8, 24 + 13, 24 + 16, 24 + 48 + 12])
def test_only_where_the_program_writes_next_says_something(address):
    memory = Memory()
    rtt, said = rtt_of(memory)
    rtt.written(0, address, 2)
    assert said.texts == () and memory.word(24 + 16) == 0


@pytest.mark.parametrize("place, value", [(28, 0), (32, 0), (32, 1 << 25), (24 + 16, 8), (16, 65), (16, 0)])
def test_a_block_that_is_not_set_up_says_nothing(place, value):
    memory = Memory()
    memory.put(place, value)
    rtt, said = rtt_of(memory)
    rtt.written(0, 24 + 12, 2)
    rtt.written(0, 24 + 12, 8)
    assert said.texts == ()
    other, nothing = rtt_of(Memory(b"SEGGER RTT2"))
    other.drain(0)
    assert nothing.texts == ()


def test_all_blocks_of_a_memory_are_found_that_lie_as_words_do():
    name = b"SEGGER RTT\0\0\0\0\0\0"
    assert control_blocks_in([(0x1000, b"...." + name + b".." + name), (0x2000, name)]) == [0x1004, 0x2000]


def test_a_port_sends_as_many_bytes_as_are_written_while_it_is_enabled():
    said = Channels()
    itm = Itm(said)
    itm.write(0, 1, 0x1FF41)
    itm.write(124, 4, 0x44434241)
    itm.write(0xE00, 4, 1 << 31)
    itm.write(0, 1, 0x42)
    itm.write(124, 2, 0x4645)
    itm.write(0xE80, 4, 0)
    itm.write(124, 1, 0x47)
    assert said.texts == (("itm0", "A"), ("itm31", "ABCDEF"))
    assert (itm.read(0), itm.read(124), itm.read(128), itm.read(0xE00), itm.read(0xE80)) == (1, 1, 0, 1 << 31, 0)
