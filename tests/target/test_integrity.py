# SPDX-License-Identifier: MIT
"""Checks at run time: every flipped bit of a constant is found, a failed check stays, and canaries see what overwrites them."""

from __future__ import annotations

import ctypes
import functools
import json
import random
import re
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy
import pytest

from aidge_build.prove.elf import read_image
from tests.command import aidge_build
from tests.models import model
from tests.programs import EXAMPLE_MODELS, needs_cross_compiler

DIGITS = EXAMPLE_MODELS["digits.onnx"]
OK, POINTER, MORE, WEIGHTS, DAMAGED, OVERWRITTEN = 0, 1, 2, 4, 6, 7
ALL = ctypes.c_uint32(0xFFFFFFFF)
# A hook that N_run calls after its last layer: the firmware writes beyond a buffer there.
HOOKS = """#include <stdint.h>
extern uint8_t net_arena[];
void net_before_input(const void *data, uint32_t bytes);
void net_after_output(void *data, uint32_t bytes);
int net_spoiled = -1;
void net_before_input(const void *data, uint32_t bytes) { (void)data; (void)bytes; }
void net_after_output(void *data, uint32_t bytes) { (void)data; (void)bytes; if (net_spoiled >= 0) net_arena[net_spoiled] ^= 1u; }
"""


@functools.cache
def shared_library(*words: str) -> tuple[bytes, dict]:
    """The library, and its plan."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        done = aidge_build("compile", DIGITS, "--name", "net", "--cpu", "host", "--out", folder, *words)
        assert done.exit_code == 0, done.stderr
        (folder / "hooks.c").write_text(HOOKS if "hooks" in words else "int net_hooks;")
        files = [folder / "net.c", folder / "net_weights.c", folder / "hooks.c"]
        flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, "-o", folder / "net.so", *files], check=True)
        return (folder / "net.so").read_bytes(), json.loads((folder / "net.plan.json").read_text())


class Model:
    """The generated code as a shared library, with memory of its own, all of which can be written."""

    def __init__(self, folder: Path, *words: str):
        path = folder / f"{len(list(folder.iterdir()))}.so"
        library, self.plan = shared_library(*words)
        path.write_bytes(library)
        self.image, self.library = read_image(path), ctypes.CDLL(str(path))
        self.base = ctypes.cast(self.library.net_run, ctypes.c_void_p).value - self.image.symbol("net_run").address
        for section in self.image.sections:
            first = (self.base + section.address) // 4096 * 4096
            size = self.base + section.address + section.size_bytes - first
            assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(first), ctypes.c_size_t(size), 7) == 0
        self.scores = ctypes.create_string_buffer(10)

    def symbol(self, name: str):
        return self.image.symbol(name)

    def bytes_of(self, name: str, size: int = 0):
        """The bytes of a variable, in place."""
        symbol = self.image.symbol(name)
        return (ctypes.c_uint8 * (size or symbol.size_bytes)).from_address(self.base + symbol.address)

    def run(self) -> int:
        return self.library.net_run(bytes(range(64)), self.scores)

    def verify(self, step: int = 0xFFFFFFFF) -> int:
        return self.library.net_verify_constants(ctypes.c_uint32(step))

    def restart(self) -> None:
        """The work of start-up code on RAM."""
        ctypes.memset(ctypes.addressof(self.bytes_of("net_integrity")), 0, self.symbol("net_integrity").size_bytes)

    def parts(self) -> list[str]:
        """The names of all constants that are checked, as the table of the code has them."""
        table = bytes(self.bytes_of("net_integrity_parts"))
        words = struct.unpack(f"<{len(table) // 8}Q", table)
        names = {self.base + symbol.address: symbol.name for symbol in self.image.symbols if symbol.size_bytes}
        return [names[word] for word in words[::2]]


def found_flips(flash: Model, names: list[str], count: int, seed: int) -> int:
    """The number of `count` single flips in these constants that the check finds; each is taken back."""
    draw, found = random.Random(seed), 0
    places = [(data, index) for data in map(flash.bytes_of, names) for index in range(len(data))]
    for _ in range(count):
        data, index = draw.choice(places)
        bit = 1 << draw.randrange(8)
        data[index] ^= bit
        found += flash.verify() == DAMAGED
        data[index] ^= bit
        flash.restart()
    assert flash.verify() == OK
    return found


@pytest.mark.requirement("G22")
def test_each_of_10_000_flipped_bits_is_found_and_no_sound_constant_is_accused(tmp_path):
    flash = Model(tmp_path, "--integrity", "constants")
    names = [*flash.parts(), "net_integrity_digest"]
    assert {array["symbol"] for array in flash.plan["claim"]["weights"]} < set(names)
    assert any(name.endswith("_parameters") for name in names)
    assert found_flips(flash, names, 10_000, 1) == 10_000


@pytest.mark.parametrize("step", [1, 7, 4096])
def test_slices_come_to_the_end_after_as_many_calls_as_there_are_bytes_and_find_damage_there(tmp_path, step):
    flash = Model(tmp_path, "--integrity", "constants")
    size = sum(flash.symbol(name).size_bytes for name in flash.parts())
    for _ in range(2):
        codes = [flash.verify(step) for _ in range(-(-size // step))]
        assert codes == [MORE] * (len(codes) - 1) + [OK]
    flash.bytes_of(flash.parts()[-1])[-1] ^= 0x80
    assert [flash.verify(step) for _ in range(-(-size // step))][-1] == DAMAGED


@pytest.mark.requirement("G23")
def test_after_a_failed_check_nothing_computes_even_when_the_constant_is_right_again(tmp_path):
    flash = Model(tmp_path, "--integrity", "constants", "--max-step", "100000")
    assert flash.run() == OK
    flash.bytes_of(flash.parts()[0])[0] ^= 1
    assert flash.run() == OK and flash.verify() == DAMAGED
    flash.bytes_of(flash.parts()[0])[0] ^= 1
    before = flash.scores.raw
    calls = [lambda: flash.library.net_begin(bytes(64), flash.scores), flash.library.net_step, flash.library.net_end]
    assert [call() for call in (flash.run, flash.verify, *calls)] == [DAMAGED] * 5
    assert flash.scores.raw == before
    flash.restart()
    assert flash.run() == OK


def test_a_flipped_bit_in_the_progress_of_the_check_is_no_silence(tmp_path):
    flash = Model(tmp_path, "--integrity", "constants")
    for bit in range(8 * flash.symbol("net_integrity").size_bytes):
        flash.restart()
        assert flash.verify(100) == MORE
        flash.bytes_of("net_integrity")[bit // 8] ^= 1 << bit % 8
        assert flash.verify() == (DAMAGED if bit < 88 else OK), bit  # the last byte belongs to canaries


@pytest.mark.requirement("G23")
def test_a_canary_that_is_overwritten_before_or_during_a_call_makes_it_refuse(tmp_path):
    ram = Model(tmp_path, "--integrity", "canary", "--io", "arena", "--dma", "hooks")
    run, arena = ram.library.net_run, ram.bytes_of("net_arena")
    spoiled = ctypes.c_int.in_dll(ram.library, "net_spoiled")
    for place in (12, len(arena) - 1):
        ram.restart()
        assert run() == OK
        arena[place] ^= 0x10
        assert run() == OVERWRITTEN
        arena[place] ^= 0x10
        assert run() == OVERWRITTEN
        ram.restart()
        spoiled.value = place
        assert [run(), run()] == [OVERWRITTEN] * 2
        spoiled.value = -1
    for place in (16, len(arena) - 5):  # bytes of the arena
        ram.restart()
        assert run() == OK
        arena[place] ^= 0x10
        assert run() == OK


def test_no_row_is_taken_after_a_failed_check(tmp_path):
    flash = Model(tmp_path, "--integrity", "on", "--input", "rows")
    begin, push, end = flash.library.net_begin, flash.library.net_push_input, flash.library.net_end
    assert begin(flash.scores) == OK and push(bytes(32), 4) == OK
    flash.bytes_of("net_integrity_digest")[0] ^= 1
    assert flash.verify() == DAMAGED
    assert [push(bytes(32), 4), end(), begin(flash.scores), flash.run()] == [DAMAGED] * 4
    flash.restart()
    flash.bytes_of("net_integrity_digest")[0] ^= 1
    assert push(bytes(32), 4) == OK
    flash.bytes_of("net_arena")[-1] ^= 1
    assert end() == OVERWRITTEN and flash.verify() == OVERWRITTEN


def test_the_owner_of_an_arena_sees_the_word_behind_it_and_an_instance_begins_anew(tmp_path):
    ram = Model(tmp_path, "--integrity", "on", "--arena", "caller")
    size = ram.plan["claim"]["arena_bytes"]
    memory = ctypes.create_string_buffer(size + 16)
    arena = -(-ctypes.addressof(memory) // 16) * 16
    first, second = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    assert ram.library.net_init(first, ctypes.c_void_p(arena)) == OK
    run = lambda instance: ram.library.net_run(instance, bytes(64), ram.scores)  # noqa: E731
    assert run(first) == OK and ram.library.net_verify_constants(first, ALL) == OK
    ctypes.memset(arena + size - 4, 0, 1)
    assert run(first) == OVERWRITTEN and ram.library.net_verify_constants(first, ALL) == OVERWRITTEN
    assert ram.library.net_init(second, ctypes.c_void_p(arena)) == OK
    assert run(second) == OK and run(first) == OVERWRITTEN


@needs_cross_compiler
def test_the_tables_of_kernels_are_checked_with_the_bytes_that_compilers_give_them(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model("s = Sigmoid(x) y = Mul(x, s)", inputs="float[1,40] x", outputs="float[1,40] y"))
    numpy.savez(tmp_path / "x.npz", x=numpy.linspace(-9, 9, 40, dtype=numpy.float32).reshape(1, 1, 40))
    words = (tmp_path / "net.onnx", "--board", "mps2-an386", "--optimize", "speed", "--integrity", "constants")
    assert aidge_build("compile", *words, "--out", tmp_path).exit_code == 0
    (part,) = re.findall(r"\{ (\w+), 4096u \}", (tmp_path / "net.c").read_text())
    assert part.endswith("_pieces")
    assert aidge_build("verify", *words, "--io-data", tmp_path / "x.npz").exit_code == 0  # N_verify_constants accepts them


@pytest.mark.requirement("G22")
def test_bound_weights_are_checked_where_they_are_and_again_when_others_are_bound(tmp_path):
    flash = Model(tmp_path, "--integrity", "constants", "--update", "weights", "--lib", "ref")
    assert flash.verify() == WEIGHTS
    size = ctypes.c_uint32.in_dll(flash.library, "net_weights_bytes").value
    block = (ctypes.c_uint64 * (size // 8 + 1))()
    ctypes.memmove(block, flash.bytes_of("net_weights"), size)
    bind = lambda: flash.library.net_bind(block, size)  # noqa: E731
    assert bind() == OK and flash.verify() == OK
    draw, data = random.Random(2), (ctypes.c_uint8 * size).from_address(ctypes.addressof(block))
    for index in (*range(80), *draw.sample(range(80, size), 400)):
        flash.restart()
        assert bind() == OK and flash.verify(50) == MORE
        data[index] ^= 1 << draw.randrange(8)
        assert flash.verify() in (DAMAGED, OK)  # a byte that was seen before
        assert flash.verify() == DAMAGED, index
        ctypes.memmove(block, flash.bytes_of("net_weights"), size)
        assert bind() == DAMAGED
    flash.restart()
    assert bind() == OK and flash.verify(100) == MORE and bind() == OK and flash.verify() == OK
