# SPDX-License-Identifier: MIT
"""Programs run on every board; the memory map is the true one; counts are exact and equal in both emulators."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys

import pytest
import unicorn

from aidge_build.base.errors import AidgeError, CheckFailed, MissingTool
from aidge_build.boards import load_board
from aidge_build.cli import main
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.run.emulate import Counted, block_counter, engine, native_code, run_program
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.toolchain import build_program
from tests.boards import OTHERS_EMULATED, TRIED
from tests.programs import build, build_model, model, needs_cross_compiler, needs_cross_cplusplus, needs_qemu, needs_riscv
from tests.shared import MODELS

pytestmark = [needs_cross_compiler, needs_qemu]
QEMU_TOO = ("microbit", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "netduinoplus2")
LAYERS = ("kws_conv", "kws_fc")

# Copies its input to its output, inverted, and reports by exit code what does not work.
EVERYTHING = """
#include <math.h>
#include "semihosting.h"
static uint8_t buffer[300];
static volatile float two = 2.0f;
static volatile int initialised = 41, cleared;
int main(void) {
    char word[16];
    int handle;
    if (initialised != 41 || cleared != 0) return 10;
    if (fabsf(expf(two) - 7.389056f) > 1e-5f) return 11;
    if (semihosting_argument(2, word, sizeof word) != 5 || word[0] != 't' || word[5] != 0) return 12;
    if (semihosting_argument(3, word, sizeof word) != -1) return 13;
    if (semihosting_open("missing.bin", SEMIHOSTING_READ) != -1) return 14;
    handle = semihosting_open("in.bin", SEMIHOSTING_READ);
    if (handle < 0 || semihosting_length(handle) != 256) return 15;
    if (semihosting_read(handle, buffer, sizeof buffer) != sizeof buffer - 256) return 16;
    semihosting_close(handle);
    for (int index = 0; index < 256; index++) buffer[index] ^= 0xFFu;
    handle = semihosting_open("out.bin", SEMIHOSTING_WRITE);
    if (handle < 0 || semihosting_write(handle, buffer, 256) != 0 || semihosting_close(handle) != 0) return 17;
    semihosting_write_integer(-2147483647 - 1);
    semihosting_write0(" ");
    semihosting_write_hexadecimal(0xDEADBEEFu);
    return 7;
}
"""


LTO = ("-Os", "-flto")
FLAGS_OF_BOTH = (
    [(flags, name) for flags in ((), ("-O3",), LTO) for name in QEMU_TOO]
    if "AIDGE_STRESS" in os.environ
    else [*(((), name) for name in QEMU_TOO), (LTO, "microbit"), (LTO, "mps2-an505")]
)


def run(board_name, elf, folder, arguments=(), count=True, emulator="", **counted):
    board = load_board(board_name)
    return run_program(
        elf, board, work_folder=folder, arguments=arguments, count=count, emulator=emulator, counted=Counted(**counted)
    )


@pytest.mark.parametrize("name", [*TRIED, *(pytest.param(name, marks=needs_riscv) for name in OTHERS_EMULATED)])
def test_a_program_finds_memory_arguments_files_and_floats_on_every_board(tmp_path, name):
    (tmp_path / "in.bin").write_bytes(bytes(range(256)))
    result = run(name, build(name, EVERYTHING, tmp_path), tmp_path, arguments=["one", "three"])
    assert (result.exit_code, result.stdout) == (7, "-2147483648 deadbeef")
    assert (tmp_path / "out.bin").read_bytes() == bytes(range(255, -1, -1))


@pytest.mark.parametrize("flags, name", FLAGS_OF_BOTH, ids=str)
def test_both_emulators_count_the_same(tmp_path, flags, name):
    elf = build(name, model(load_board(name).arena_regions[0].name), tmp_path, flags=flags)
    counted = [
        run(name, elf, tmp_path, run_symbol="kws_run", layer_symbols=LAYERS, emulator=emulator, watched_symbols=["kws_arena"])
        for emulator in ("unicorn", "qemu", "unicorn", "qemu")
    ]
    assert len({dataclasses.replace(result, emulator="", caches_off=()) for result in counted}) == 1
    assert counted[0].stdout == "384\n" and counted[0].runs == 2 and counted[0].written_bytes == 64


@pytest.mark.requirement("G14")
@pytest.mark.parametrize("name", ["digits.onnx", *(MODELS if os.environ.get("AIDGE_STRESS") else ("ad_toycar",))])
def test_both_emulators_count_generated_models_the_same_layer_by_layer_and_every_time(tmp_path, name):
    board = load_board("mps2-an386")
    elf = build_model(name, board, tmp_path, flags=("-O3",))
    (claim,) = read_claims(read_image(elf))
    counted = [
        run_program(
            elf,
            board,
            work_folder=tmp_path,
            counted=Counted(f"{claim.model}_run", claim.layers, watched_symbols=[claim.arenas[0].symbol]),
            emulator=emulator,
        )
        for emulator in ("unicorn", "qemu") * 2
    ]
    assert len({dataclasses.replace(result, emulator="", caches_off=()) for result in counted}) == 1
    layers = [layer.instructions for layer in counted[0].layers]
    assert all(layers) and 0.95 * counted[0].run_instructions < sum(layers) <= counted[0].run_instructions
    assert counted[0].written_bytes <= claim.arena_bytes


def test_a_layer_is_counted_with_the_kernels_that_it_calls(tmp_path):
    elf = build("stm32f4", model("CCM"), tmp_path)
    result = run("stm32f4", elf, tmp_path, run_symbol="kws_run", layer_symbols=(*LAYERS, "kws_absent"))
    counts = {layer.symbol: layer.instructions for layer in result.layers}
    assert [layer.symbol for layer in result.layers] == [*LAYERS, "kws_absent"] and counts["kws_absent"] is None
    assert counts["kws_fc"] > 2 * counts["kws_conv"] - 50 and counts["kws_conv"] > 2 * 64 * 4
    assert 0 < result.run_instructions - counts["kws_conv"] - counts["kws_fc"] < 40
    assert result.run_instructions < result.instructions and result.instructions_per_run == result.run_instructions / 2


def test_straight_code_is_counted_to_the_instruction(tmp_path):
    """`it` blocks count in full: the instructions that the condition skips are executed as no-operations."""
    code = """
#include "semihosting.h"
__attribute__((naked, noinline)) int kws_run(int x) {
    __asm__ volatile("cmp r0, #5\\n ittte gt\\n addgt r0, #1\\n addgt.w r0, r0, #1\\n addgt r0, #1\\n addle r0, #2\\n bx lr");
}
int main(void) { return kws_run(2) + kws_run(9); }
"""
    elf = build("mps2-an386", code, tmp_path)
    result = run("mps2-an386", elf, tmp_path, run_symbol="kws_run")
    assert (result.exit_code, result.run_instructions, result.runs) == (16, 2 * 7, 2)


@pytest.mark.parametrize("attribute", ["native", "python"])
def test_the_counter_in_python_counts_the_same_as_the_one_in_c(tmp_path, monkeypatch, attribute):
    for board, memory in (("stm32f4", "CCM"), ("rp2040", "SRAM")):
        elf = build(board, model(memory), tmp_path, name=board)
        asked = {
            "run_symbol": "kws_run",
            "layer_symbols": LAYERS,
            "watched_symbols": ["kws_arena"],
            "timing": program_timing(elf, load_board(board), tells_apart=True),
        }
        reference = run(board, elf, tmp_path, **asked)
        with monkeypatch.context() as patched:
            if attribute == "python":
                patched.setattr(block_counter, "shared_library", lambda name, folder: None)
            assert run(board, elf, tmp_path, **asked) == reference
        assert reference.run_cycles.code_stalls > 0 and reference.layers[0].cycles.core > reference.layers[0].instructions
        stalls = [round(sum(getattr(one, key) for one in reference.reads)) for key in ("code_stalls", "data_stalls")]
        assert stalls == [reference.run_cycles.code_stalls, reference.run_cycles.data_stalls]
        (arena,) = {one.memory for one in reference.reads if one.symbol == "kws_arena"}
        read = sum(one.data_bytes for one in reference.reads if (one.layer, one.symbol) == ("kws_fc", "kws_arena"))
        assert (arena, read > 0) == (memory, True)


@pytest.mark.parametrize("attribute", ["native", "python"])
def test_what_follows_a_conditional_store_and_return_is_not_conditional(tmp_path, monkeypatch, attribute):
    code = """
#include "semihosting.h"
int watched;
__attribute__((naked, noinline)) void store(int *place) {
    __asm__ volatile("movs r1, #0\\n cmp r0, r0\\n it eq\\n streq r0, [r0]\\n cmp r0, #0\\n b 1f\\n 1: movs r1, #7");
    __asm__ volatile("cmp r0, r0\\n itt eq\\n streq r0, [r0]\\n bxeq lr\\n udf #0");
}
__attribute__((naked, noinline)) int kws_run(int *place) {
    __asm__ volatile("push {r4, lr}\\n bl store\\n movs r0, #1\\n it eq\\n moveq r0, #2\\n add r0, r1\\n pop {r4, pc}");
}
int main(void) { return kws_run(&watched); }
"""
    elf = build("mps2-an386", code, tmp_path)
    if attribute == "python":
        monkeypatch.setattr(block_counter, "shared_library", lambda name, folder: None)
    result = run("mps2-an386", elf, tmp_path, run_symbol="kws_run", watched_symbols=["watched"])
    assert (result.exit_code, result.run_instructions, result.written_bytes) == (1 + 7, 2 + 7 + 4 + 5, 4)


@pytest.mark.parametrize("board", ["stm32f7", "mps3-an547"])
def test_the_bytes_of_the_arena_that_inferences_write_are_known(tmp_path, capsys, board):
    code = model(load_board(board).arena_regions[0].name).replace("int main(void) {", "int main(void) { kws_arena[300] = 1;")
    elf = build(board, code, tmp_path)
    assert main(["run", str(elf), "--board", board, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["arena_written_bytes"], found["arena_bytes"]) == (64, 512)


def test_layers_that_the_linker_merged_are_counted_in_turns(tmp_path):
    """Two names of one function: the first call is the first layer's, the second call the second's."""
    code = (
        model("DTCM")
        .replace("static int kws_fc(void)", "static int unused_fc(void)")
        .replace(
            "__attribute__((noinline)) int kws_run(void)",
            'static void kws_fc(void) __attribute__((alias("kws_conv"), used));\n__attribute__((noinline)) int kws_run(void)',
        )
        .replace("return kws_fc() + (kws_arena[1] != 0);", "kws_conv(); return unused_fc() * 0 + 192;")
    )
    elf = build("stm32f7", code, tmp_path)
    result = run("stm32f7", elf, tmp_path, run_symbol="kws_run", layer_symbols=LAYERS)
    conv, fc = (layer.instructions for layer in result.layers)
    assert conv and fc and conv < fc


@pytest.mark.parametrize("name", ["mps2-an386", "mps3-an547"])
def test_what_runs_from_reset_to_main_is_counted_apart(tmp_path, name):
    """Main comes after start-up has cleared variables: 256 words more take the same number of instructions each."""
    counts = [
        run(
            name,
            build(
                name,
                f"static volatile int cleared[{words}]; int main(void) {{ return cleared[0]; }}",
                tmp_path,
                name=f"app_{words}",
            ),
            tmp_path,
        )
        for words in (4, 260, 516)
    ]
    first, second, third = (result.start_up_instructions for result in counts)
    assert second - first == third - second >= 256 and first < 400
    assert all(0 < result.instructions - result.start_up_instructions < 40 for result in counts)


def test_counting_can_be_switched_off(tmp_path):
    result = run("stm32f7", build("stm32f7", model("DTCM"), tmp_path), tmp_path, count=False, layer_symbols=LAYERS)
    assert result.instructions is None and result.runs is None and [layer.instructions for layer in result.layers] == [None, None]


def test_mve_with_predicated_loops_runs_on_the_m55(tmp_path):
    code = """
#include <arm_mve.h>
#include "semihosting.h"
static int8_t a[37], b[37];
static float f[19];
int main(void) {
    int32_t sum = 0;
    float total = 0.0f;
    for (int i = 0; i < 37; i++) { a[i] = (int8_t)(i - 18); b[i] = (int8_t)(3 * i - 50); sum -= a[i] * b[i]; }
    for (int i = 0; i < 37; i += 16) {
        mve_pred16_t p = vctp8q((uint32_t)(37 - i));
        sum = vmladavaq_p_s8(sum, vldrbq_z_s8(a + i, p), vldrbq_z_s8(b + i, p), p);
    }
    for (int i = 0; i < 19; i++) f[i] = 0.5f * (float)i;
    float32x4_t lanes = vdupq_n_f32(0.0f);
    for (int i = 0; i < 19; i += 4) { mve_pred16_t p = vctp32q((uint32_t)(19 - i));
        lanes = vaddq_m_f32(lanes, lanes, vldrwq_z_f32(f + i, p), p); }
    total = vgetq_lane_f32(lanes, 0) + vgetq_lane_f32(lanes, 1) + vgetq_lane_f32(lanes, 2) + vgetq_lane_f32(lanes, 3);
    return sum == 0 && total == 85.5f ? 0 : 1;
}
"""
    elf = build("mps3-an547", code, tmp_path, flags=("-O3",))
    result = run("mps3-an547", elf, tmp_path)
    assert result.exit_code == 0 and result.instructions > 100


def test_the_largest_weights_and_activations_fit_the_big_boards(tmp_path):
    code = """
#include "semihosting.h"
const int8_t weights[900 * 1024] = {1, [900 * 1024 - 1] = 41};
static volatile int last = 900 * 1024 - 1;
__attribute__((section(".bss.aidge_REGION.x"))) static uint8_t arena[256 * 1024];
int main(void) { arena[last & 0x3FFFF] = 1; return weights[last] + arena[last & 0x3FFFF]; }
"""
    for name in ("mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547"):
        elf = build(name, code.replace("REGION", load_board(name).arena_regions[0].name), tmp_path)
        assert run(name, elf, tmp_path, count=False).exit_code == 42


def test_the_stack_is_measured_on_both_emulators(tmp_path):
    code = "int main(void) { volatile char big[1000]; for (int i = 0; i < 1000; i++) big[i] = 1; return 0; }"
    elf = build("mps2-an386", code, tmp_path)
    first, second = (run("mps2-an386", elf, tmp_path, emulator=name).stack_high_water_bytes for name in ("unicorn", "qemu"))
    assert first == second and 1000 <= first < 1100


@pytest.mark.parametrize(
    "statement, text",
    [
        ("*(volatile int *)0x08000100 = 1;", r"writes to 0x08000100, which is flash, at main"),
        ("*(volatile int *)0x20050000 = 1;", r"writes to 0x20050000, where the board has no memory, at main.* add its region"),
        ("(void)*(volatile int *)0x40023800;", r"reads from 0x40023800, where the board has no memory, at main"),
        ("((void (*)(void))0x60000001)();", r"jumps to 0x60000000, where the board has no memory"),
        ('for (;;) __asm__ volatile("");', r"endless loop at main"),
        ('__asm__ volatile("udf #0");', r"main"),
        ("for (;;) cleared++;", r"has not ended after 100,000 instructions"),
    ],
    ids=["flash", "unmapped", "peripheral", "jump", "loop", "undefined", "limit"],
)
def test_a_violation_stops_with_its_address_and_function(tmp_path, statement, text):
    elf = build("stm32f7", f"volatile int cleared;\nint main(void) {{ {statement} return 0; }}", tmp_path)
    with pytest.raises(CheckFailed, match=text) as caught:
        run("stm32f7", elf, tmp_path, limit=100_000)
    assert caught.value.exit_code == 1 and caught.value.where == str(elf)


@pytest.mark.parametrize(
    "statement, text",
    [
        ("*(volatile int *)0x02000000 = 1;", "takes a fault .* accessing 0x02000000, at main"),
        ('for (;;) __asm__ volatile("");', "endless loop at main"),
        ("for (;;) cleared++;", "has not ended after 100,000 instructions"),
    ],
    ids=["fault", "loop", "limit"],
)
def test_a_violation_in_qemu_stops_with_its_function(tmp_path, statement, text):
    elf = build("mps3-an547", f"volatile int cleared;\nint main(void) {{ {statement} return 0; }}", tmp_path)
    with pytest.raises(CheckFailed, match=text):
        run("mps3-an547", elf, tmp_path, limit=100_000)


def test_a_users_board_builds_checks_and_runs_with_one_new_file(tmp_path, capsys):
    (tmp_path / "toy.toml").write_text(
        'extends = "stm32f4"\ntitle = "Toy"\ndata = "CCM"\narena = ["TAIL"]\nstack_size = "1K"\n'
        '[regions.TAIL]\norigin = 0x60000000\nlength = "4K"\nkind = "ram"\n'
    )
    board = load_board("toy", [tmp_path])
    (tmp_path / "app.c").write_text(model("TAIL"))
    elf = build_program(board, [tmp_path / "app.c"], tmp_path / "app.elf", work_folder=tmp_path / "objects")
    options = ["--board", "toy", "--board-path", str(tmp_path), "--json"]
    assert main(["check", str(elf), *options]) == 0
    used = {region["name"]: region["used_bytes"] for region in json.loads(capsys.readouterr().out)["regions"]}
    assert used["TAIL"] == 512 and used["CCM"] >= 1024 and used["SRAM1"] == 0
    assert main(["run", str(elf), *options]) == 0
    assert json.loads(capsys.readouterr().out)["stdout"] == "384\n"


def test_a_stack_overflow_leaves_the_memory_and_is_found(tmp_path):
    code = (
        "int deep(volatile int *p, int n) { volatile int x[64]; x[0] = *p; return n ? deep(x, n - 1) + x[0] : 0; }\n"
        "int main(void) { volatile int x = 1; return deep(&x, 100); }"
    )
    elf = build("mps2-an386", code, tmp_path)
    with pytest.raises(CheckFailed, match="writes to 0x1ff.* where the board has no memory, at deep"):
        run("mps2-an386", elf, tmp_path)


@pytest.mark.requirement("SEMIHOSTING")
def test_files_outside_of_the_folder_are_refused(tmp_path):
    code = '#include "semihosting.h"\nint main(void) { return semihosting_open("../x", SEMIHOSTING_WRITE) + 1; }'
    elf = build("stm32f7", code, tmp_path)
    (tmp_path / "inside").mkdir()
    with pytest.raises(AidgeError, match="outside of its folder"):
        run("stm32f7", elf, tmp_path / "inside")
    assert not (tmp_path / "x").exists()


def test_the_boards_own_set_up_is_skipped_in_emulation(tmp_path):
    code = "void board_init(void) { while (!(*(volatile int *)0x40023800 & 2)) ; }\nint main(void) { return 5; }"
    assert run("stm32f7", build("stm32f7", code, tmp_path), tmp_path).exit_code == 5


def test_a_memory_whose_clock_is_off_cannot_be_used_before_the_start_up_code_switches_it_on(tmp_path):
    code = "int main(void) { volatile int *word = (volatile int *)0x30020010; *word = 6; return *word; }"
    assert run("stm32h743", build("stm32h743", code, tmp_path), tmp_path).exit_code == 6
    board = load_board("stm32h743")
    forgetful = dataclasses.replace(board, regions=tuple(dataclasses.replace(region, clock=None) for region in board.regions))
    elf = build_program(forgetful, [tmp_path / "app.c"], tmp_path / "app.elf", work_folder=tmp_path / "objects")
    with pytest.raises(CheckFailed, match="accesses 0x30020010 while its clock is off, at main"):
        run("stm32h743", elf, tmp_path)


def test_a_memory_that_overflows_is_named_with_the_missing_bytes(tmp_path):
    code = "static char big[20000];\nint main(void) { for (int i = 0; i < 20000; i++) big[i] += (char)i; return big[3]; }"
    with pytest.raises(AidgeError, match=r"memory SRAM is too small by 5,\d\d\d B") as caught:
        build("microbit", code, tmp_path)
    assert caught.value.code == "LINK_OVERFLOW" and not (tmp_path / "app.elf").exists()


def test_an_arena_for_another_board_is_refused_by_the_linker_script(tmp_path):
    with pytest.raises(AidgeError, match="an arena names a memory that board microbit does not have"):
        build("microbit", model("DTCM"), tmp_path)


def test_an_error_of_the_compiler_is_one_line(tmp_path):
    with pytest.raises(AidgeError, match=r"app.c:1:\d+: error: .*nonsense") as caught:
        build("stm32f7", "int main(void) { return nonsense; }", tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.requirement("EMULATOR")
def test_an_emulator_that_skips_what_follows_a_conditional_access_runs_no_program(tmp_path, monkeypatch):
    start = unicorn.Uc.emu_start

    def skipping(core, begin, until, **limits):
        start(core, begin, until - 2, **limits)  # the instruction that Unicorn 2.1.4 takes for conditional

    elf = build("stm32f7", "int main(void) { return 0; }", tmp_path)
    engine.require_right_engine.cache_clear()
    monkeypatch.setattr(unicorn.Uc, "emu_start", skipping)
    with pytest.raises(
        MissingTool,
        match="wrongly what follows a conditional load or store. Hint: pip install --only-binary unicorn 'unicorn!=2.1.4'",
    ):
        run("stm32f7", elf, tmp_path)


@pytest.mark.requirement("EMULATOR")
def test_without_unicorn_what_to_install_is_said(monkeypatch):
    for name in ("unicorn_machine", "block_counter"):
        monkeypatch.delitem(sys.modules, f"aidge_build.run.emulate.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "unicorn", None)
    with pytest.raises(MissingTool, match="unicorn is not installed. Hint: pip install --only-binary unicorn 'unicorn!=2.1.4'"):
        importlib.import_module("aidge_build.run.emulate.unicorn_machine")


def test_a_missing_cross_compiler_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("AIDGE_TOOLCHAIN_PREFIX", "no-such-")
    with pytest.raises(MissingTool, match="needs no-such-gcc.*apt install gcc-arm-none-eabi"):
        build("stm32f7", "", tmp_path)


@needs_cross_cplusplus
def test_c_plus_plus_constructors_run(tmp_path):
    source = tmp_path / "app.cpp"
    source.write_text(
        "struct Seven { int value; Seven() : value(6 + seed) {} static int seed; };\nint Seven::seed = 1;\n"
        "static Seven seven;\nint main() { return seven.value; }"
    )
    elf = build_program(load_board("stm32f4"), [source], tmp_path / "app.elf", work_folder=tmp_path)
    assert run("stm32f4", elf, tmp_path).exit_code == 7


def test_the_native_parts_are_compiled_once_and_without_warnings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = native_code.shared_library("unicorn_hook", tmp_path)
    assert first and first.parent == tmp_path / "aidge-build" and native_code.shared_library("unicorn_hook", tmp_path) == first
    assert sorted(path.name for path in first.parent.iterdir()) == [first.name]


def test_without_a_compiler_there_are_no_counts_in_qemu_but_results(tmp_path, monkeypatch):
    from aidge_build.run.emulate import qemu

    monkeypatch.setattr(qemu, "shared_library", lambda name, folder: None)
    result = run("mps3-an547", build("mps3-an547", model("DTCM"), tmp_path), tmp_path, layer_symbols=LAYERS)
    assert result.stdout == "384\n" and result.instructions is None and result.layers[0].instructions is None


def test_start_up_code_invalidates_each_line_of_the_data_cache_and_switches_the_caches_on(tmp_path):
    """Unicorn has memory where the registers of the caches are: start-up copies a description (CLIDR, CTR, CCSIDR) there, and
    the program sees the last line."""
    code = """
#include "memories.h"
#define REGISTER(address) (*(volatile uint32_t *)(address))
static const uint32_t caches[] = {3u, 0u, 31u << 13 | 3u << 3 | 1u};
__attribute__((section(".aidge_copied"), used)) static const struct copied described = {
    caches, (uint32_t *)0xE000ED78, (uint32_t *)0xE000ED84
};
int main(void) { return REGISTER(0xE000EF60) != (3u << 30 | 31u << 5) || (REGISTER(0xE000ED14) >> 16 & 3u) != 3u; }
"""
    on, no_cache = (run("stm32f7", build("stm32f7", text, tmp_path), tmp_path) for text in (code, code.replace("{3u", "{0u")))
    assert (on.exit_code, no_cache.exit_code) == (0, 1)
    assert 4 * 128 < on.instructions - no_cache.instructions < 9 * 128


@pytest.mark.parametrize("name", ["mps2-an500", "mps3-an547"])
def test_start_up_code_with_caches_runs_in_qemu_which_has_none(tmp_path, name):
    board = dataclasses.replace(load_board(name), has_caches=True)
    result = run(name, build(board, "int main(void) { return 5; }", tmp_path), tmp_path, emulator="qemu")
    assert result.exit_code == 5 and 60 < result.instructions < 200


def test_the_verb_run_prints_the_programs_text_and_counts(tmp_path, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    assert main(["run", str(elf), "--board", "stm32f7"]) == 0
    first, second, estimate, third = capsys.readouterr().out.splitlines()
    assert first == "384" and "instructions" in second and "per inference on STM32F746" in second
    assert "cycles" in estimate
    assert third.startswith("stack ") and third.endswith(" B used, arena 64 of 512 B written")
    assert main(["run", str(elf), "--board", "stm32f7", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["exit_code"] == 0 and [layer["name"] for layer in data["layers"]] == list(LAYERS)
    assert sum(layer["instructions"] for layer in data["layers"]) < data["run_instructions"] < data["instructions"]


def test_the_verb_run_hands_over_input_and_output(tmp_path, capsys):
    code = """
#include "semihosting.h"
int main(void) {
    char from[32], to[32], byte;
    if (semihosting_argument(1, from, sizeof from) < 0 || semihosting_argument(2, to, sizeof to) < 0) return 1;
    int in = semihosting_open(from, SEMIHOSTING_READ), out = semihosting_open(to, SEMIHOSTING_WRITE);
    while (semihosting_read(in, &byte, 1) == 0) { byte++; semihosting_write(out, &byte, 1); }
    return 3;
}
"""
    elf = build("mps2-an386", code, tmp_path)
    (tmp_path / "x").write_bytes(b"HAL")
    arguments = ["run", str(elf), "--board", "mps2-an386", "--json"]
    arguments += ["--input", str(tmp_path / "x"), "--output", str(tmp_path / "y")]
    assert main(arguments) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["exit_code"], data["ok"], (tmp_path / "y").read_bytes()) == (3, False, b"IBM")
    assert list(data["outputs_sha256"]) == ["y"]
