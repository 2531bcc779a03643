# SPDX-License-Identifier: MIT
"""examples/freertos_keyword: its logic on this machine, and, with a checkout of the kernel, the product in the emulator."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.checkout import ROOT, copy_of_example, scons_in
from tests.programs import needs_cross_compiler, needs_qemu
from tests.served import scons

EXAMPLE = ROOT / "examples" / "freertos_keyword"
KEYWORD, UPDATE = ROOT / "examples" / "keyword", ROOT / "examples" / "update"
KERNEL = os.environ.get("FREERTOS_KERNEL", "")
needs_kernel = pytest.mark.skipif(not KERNEL, reason="FREERTOS_KERNEL=DIR names a checkout of the kernel")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a native C compiler (cc)")
FAILED, DAMAGED = -6, -5  # the reasons of kept.h, negative

# A model without layers, and a chip whose reset is a jump. A block: magic, version at word 3, a sum, whether it answers wrongly.
WORLD = """
#include <setjmp.h>
#include "faults.h"
#include "flash.h"
#include "kept.h"
#include "keyword.h"
#include "self_test.h"
#include "slots.h"

enum { MAGIC = 0x57474941, BYTES = 64 };
_Alignas(8) uint8_t SLOT_A[SLOT_BYTES], SLOT_B[SLOT_BYTES];
_Alignas(8) const uint8_t keyword_weights[BYTES] = {0x41, 0x49, 0x47, 0x57, [16] = 0x41, 0x49, 0x47, 0x57};
const uint32_t keyword_weights_bytes = BYTES;
struct kept kept;
static const uint32_t *bound;
static jmp_buf reset;

static int suits(const uint32_t *block) { return block[0] == MAGIC && block[4] == (block[0] ^ block[3] ^ block[5]); }
static const void *one(const uint32_t *block) { return suits(block) ? block : 0; }

int keyword_bind(const void *weights, uint32_t bytes)
{
    const uint32_t *const block = weights;

    if (bytes < BYTES || !suits(block) || (bound && block[3] < bound[3])) {
        return KEYWORD_WEIGHTS;
    }
    bound = block;
    return KEYWORD_OK;
}

const void *keyword_newer(const void *first, const void *second, uint32_t bytes)
{
    const uint32_t *const a = first, *const b = second;

    (void)bytes;
    return suits(a) && suits(b) ? (b[3] > a[3] ? second : first) : one(a) ? first : one(b);
}

int self_test_passes(void) { return bound[5] == 0u; }
void faults_restart(uint32_t reason, uint32_t detail) { (void)detail; longjmp(reset, -(int)reason); }

int boot(void)
{
    const int reason = setjmp(reset);

    bound = 0;
    return reason ? reason : slots_start() ? (int)slots_version() : -99;
}

int take(void)
{
    const int reason = setjmp(reset);

    return reason ? reason : slots_take_new();
}

int give_up(uint32_t reason) { const int code = setjmp(reset); if (!code) { slots_give_up(reason); } return code; }

int deliver(uint32_t version, uint32_t is_wrong, uint32_t is_damaged, uint32_t bytes)
{
    uint32_t block[BYTES / 4] = {MAGIC, 0, BYTES, version, MAGIC ^ version ^ is_wrong, is_wrong};
    uint8_t *const slot = slots_spare();

    if (!slot) {
        return -1;
    }
    block[4] ^= is_damaged;
    flash_erase(slot, SLOT_BYTES);
    flash_program(slot, block, bytes);
    return slots_offer(slot);
}

void went_well(uint32_t frames) { while (frames-- > 0u) { slots_went_well(); } }
void flip(void) { ((uint8_t *)(uintptr_t)slots_in_use())[12] ^= 8; }
void begin(void) { uint8_t *const slot = slots_spare(); flash_erase(slot, SLOT_BYTES); flash_program(slot, keyword_weights, 16); }
"""
HEADER = """
#include <stdint.h>
enum { KEYWORD_OK = 0, KEYWORD_WEIGHTS = 4 };
extern const uint8_t keyword_weights[];
extern const uint32_t keyword_weights_bytes;
int keyword_bind(const void *weights, uint32_t bytes);
const void *keyword_newer(const void *first, const void *second, uint32_t bytes);
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """slots.c, decide.c and the simulated flash as a library of this machine."""
    folder = tmp_path_factory.mktemp("logic")
    (folder / "keyword.h").write_text(HEADER)
    (folder / "world.c").write_text(WORLD)
    sources = [EXAMPLE / "slots.c", EXAMPLE / "decide.c", EXAMPLE / "simulated" / "flash.c", folder / "world.c"]
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-fsanitize-undefined-trap-on-error", "-fsanitize=undefined"]
    subprocess.run(["cc", *flags, f"-I{folder}", f"-I{EXAMPLE}", *sources, "-o", folder / "logic.so"], check=True)
    return folder / "logic.so"


@pytest.fixture
def world(library, tmp_path):
    """A device of its own for each test, with erased slots."""
    copy = shutil.copy(library, tmp_path / "logic.so")
    loaded = ctypes.CDLL(copy)
    assert loaded.boot() == 0
    return loaded


def arrived(world, version: int, wrong: int = 0) -> int:
    assert world.deliver(version, wrong, 0, 64) == 1
    return world.take()


@needs_compiler
def test_new_weights_are_kept_after_their_trial_and_given_up_after_a_reset_within_it(world):
    assert arrived(world, 1) == 1 and world.slots_version() == 1
    world.went_well(99)
    assert world.boot() == 0 and world.boot() == 0  # one frame too few: never again
    assert arrived(world, 2) == 1
    world.went_well(100)
    assert world.boot() == 2
    assert arrived(world, 3) == 1 and world.slots_version() == 3
    assert world.boot() == 2  # the way back is the other slot


@needs_compiler
def test_no_block_is_received_while_the_other_slot_is_the_way_back(world):
    assert arrived(world, 1) == 1
    assert world.deliver(2, 0, 0, 64) == -1
    world.went_well(100)
    assert arrived(world, 2) == 1


@needs_compiler
def test_a_block_that_is_damaged_cut_off_or_older_is_refused(world):
    assert arrived(world, 5) == 1
    world.went_well(100)
    for version, damaged, length in ((6, 1, 64), (6, 0, 16), (5, 0, 64), (4, 0, 64)):
        assert world.deliver(version, 0, damaged, length) == 0
        assert world.take() == 0 and world.slots_version() == 5
        assert world.boot() == 5


@needs_compiler
def test_a_block_that_is_damaged_after_it_was_accepted_is_forgotten(world):
    assert world.deliver(1, 0, 0, 64) == 1
    (ctypes.c_uint8 * 64).in_dll(world, "SLOT_A")[12] ^= 4
    assert world.take() == 0 and world.slots_version() == 0
    assert arrived(world, 2) == 1


@needs_compiler
def test_weights_that_fail_the_self_test_end_in_a_start_with_the_ones_before(world):
    assert arrived(world, 1) == 1
    world.went_well(100)
    assert arrived(world, 2, wrong=1) == FAILED
    assert world.boot() == 1


@needs_compiler
def test_weights_that_were_given_up_in_service_are_never_used_again(world):
    for version in (1, 2):
        assert arrived(world, version) == 1
        world.went_well(100)
    for following in (1, 0):
        world.flip()
        assert world.give_up(-DAMAGED) == DAMAGED
        world.flip()  # right again: given up is for good
        assert world.boot() == following


@needs_compiler
def test_a_block_that_power_cut_off_in_the_middle_is_no_block(world):
    assert arrived(world, 1) == 1
    world.went_well(100)
    world.begin()
    assert world.boot() == 1 and arrived(world, 2) == 1


@needs_compiler
def test_the_firmware_hears_the_words_that_the_page_of_the_run_expects(library, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["listener.py", str(KEYWORD)])
    monkeypatch.syspath_prepend(str(EXAMPLE))
    spec = importlib.util.spec_from_file_location("listener", EXAMPLE / "listener.py")
    listener = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(listener)
    logic, generator = ctypes.CDLL(library), random.Random(1)
    for _ in range(20):
        labels = [generator.randrange(5) for _ in range(40) for _ in range(generator.randrange(1, 12))]
        labels = [label for label in labels for _ in range(generator.choice((1, 1, 3)))]
        logic.decide_reset()
        said = [logic.decide(label) for label in labels]
        assert said == listener.words(labels) and (len(labels) < 40 or any(said))


def test_without_the_kernel_the_build_says_what_to_type(tmp_path):
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    variables.pop("FREERTOS_KERNEL", None)
    exit_code, printed = scons(copy_of_example("freertos_keyword", tmp_path), "-Q", env=variables)
    assert exit_code == 2 and printed.count("\n") == 1
    assert "git clone https://github.com/FreeRTOS/FreeRTOS-Kernel  or  scons freertos=DIR" in printed


@needs_kernel
@needs_cross_compiler
@needs_qemu
def test_every_decision_under_faults_is_the_one_of_numpy(tmp_path):
    folder = copy_of_example("freertos_keyword", tmp_path)
    words = (f"freertos={KERNEL}", f"support={ROOT / 'boards'}", f"keyword={KEYWORD}", f"update={UPDATE}", "frames=100")
    printed = scons_in(folder, *words, "run")
    assert " 0 wrong" in printed and ", 0 without the right record" in printed
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    proved = re.findall(r"stack of task (\w+) <= (\d+) B \+ (\d+) B for a switch, of (\d+) B", printed)
    assert [task for task, *_ in proved] == ["listen", "act", "receive"]
    for task, calls, switch, size in proved:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| task `{task}` |")]
        assert f"| {int(calls) + int(switch)} of {size} B |" in row, (row, calls, switch)
