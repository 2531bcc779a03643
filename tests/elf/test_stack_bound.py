# SPDX-License-Identifier: MIT
"""The bound of the stack holds for whatever the compiler makes of C, and is refused where nothing can be proved."""

from __future__ import annotations

import json
import re

import pytest

from aidge_build.boards import load_board
from aidge_build.cli import main
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import call_walk, read_image, stack, stack_use
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program, disassemble
from tests.programs import build, model, needs_cross_compiler, needs_cross_cplusplus, needs_qemu

pytestmark = [needs_cross_compiler, needs_qemu]

# Large frames, a switch, variadic functions, tail calls, calls that never return, and libgcc's and libm's own code.
EVERYTHING = """
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "semihosting.h"
#define KEPT __attribute__((noinline, noclone))
volatile double d = 2.0; volatile long long q = 5; volatile float f = 1.5f; volatile int x = 3, once;
KEPT int large(int n) { volatile char b[1200]; b[n] = 1; return b[n] + n; }
KEPT int larger(int n) { volatile char b[5000]; b[n] = 1; return b[n] + large(n); }
KEPT int sum(int n, ...) { va_list l; int s = 0; va_start(l, n); while (n--) s += va_arg(l, int); va_end(l); return s; }
KEPT int leaf(int n) { volatile int b[20]; b[n] = n; return b[n]; }
KEPT int tail(int n) { return leaf(n + 1); }
KEPT int choose(int n) {
    switch (n) {
    case 0: return 3; case 1: return tail(4); case 2: return 77; case 3: return leaf(9); case 4: return 11;
    case 5: return 12 * tail(1); case 6: return large(14); case 7: return x; default: return 2;
    }
}
KEPT void stop(int n) { volatile char b[40]; b[3] = (char)n; semihosting_exit(b[3]); }
int main(void) {
    char text[70];
    int total = 0;
    for (int i = 0; i < 9; i++) total += choose(i) + sum(3, i, x, 4);
    d = d * d / 3.0 + (double)f; q = q / x * q; f = expf(f) + sqrtf(f);
    memset(text, x, sizeof text);
    if (once) stop(1);
    return (total + larger(7) + text[5] + (int)d + (int)q + (int)f) == 0;
}
"""
# One of each pair is in every column and row that differs in its code.
SAMPLE = (
    ("microbit", ("-O0",)),
    ("microbit", ("-O2",)),
    ("microbit", ("-Os", "-flto")),
    ("mps2-an385", ("-O0",)),
    ("mps2-an385", ("-O3",)),
    ("mps2-an386", ("-O2", "-flto")),
    ("stm32f7", ("-Os",)),
    ("mps2-an505", ("-O0",)),
    ("mps2-an505", ("-O3",)),
    ("mps3-an547", ("-O0",)),
    ("mps3-an547", ("-O3",)),
)


def bounds(elf, *runs: str):
    return stack_use(read_image(elf), read_disassembly(disassemble(elf)), runs)


def bound_of(tmp_path, code: str, *flags: str, board: str = "mps2-an386"):
    return bounds(build(board, code, tmp_path, flags=flags)).program


@pytest.mark.parametrize("board, flags", SAMPLE, ids=lambda value: "".join(value))
def test_the_bound_is_what_the_program_uses_or_a_little_more(tmp_path, board, flags):
    text = EVERYTHING if board != "microbit" else EVERYTHING.replace("5000", "1500")
    (tmp_path / f"{board}-tall.toml").write_text(f'extends = "{board}"\nstack_size = "8K"\n')
    tall = load_board(f"{board}-tall", [tmp_path])
    (tmp_path / "app.c").write_text(text)
    elf = build_program(tall, [tmp_path / "app.c"], tmp_path / "app.elf", work_folder=tmp_path / "objects", extra_flags=flags)
    used = run_program(elf, tall, work_folder=tmp_path).stack_high_water_bytes
    bound = bounds(elf).program
    assert bound.bytes is not None, bound
    assert used <= bound.bytes <= used + 64, bound
    assert bound.path[:2] == ("Reset_Handler", "aidge_start") and bound.path[-1] in ("large", "larger")
    assert sum(bound.held_bytes) == bound.bytes and len(bound.held_bytes) == len(bound.path) and min(bound.held_bytes) >= 0


REFUSED = {
    "recursion": (
        "volatile int n; int rec(int k) { return k ? rec(k - 1) * n + 1 : n; } int main(void) { return rec(n); }",
        "recursion rec > rec",
    ),
    "a longer cycle": (
        "volatile int n; int a(int); __attribute__((noinline)) int b(int k) { return a(k - 1) * n; }\n"
        "__attribute__((noinline)) int a(int k) { return k ? b(k) + n : n; } int main(void) { return a(n); }",
        "recursion a > b > a",
    ),
    "an array of a variable length": (
        "volatile int n = 5; int f(char *p) { return p[0]; } int (*volatile g)(char *); \n"
        "__attribute__((noinline)) int v(int k) { volatile char b[k]; b[0] = 1; return b[k - 1]; }\n"
        "int main(void) { return v(n); }",
        "the frame's size depends on data, at v+",
    ),
    "a function pointer": (
        "int one(void) { return 1; } int (*volatile f)(void) = one; int main(void) { return f() + 1; }",
        "an indirect call at main+",
    ),
    "a tail call through a pointer": (
        "int one(void) { return 1; } int (*volatile f)(void) = one; __attribute__((noinline)) int t(void) "
        "{ return f(); } int main(void) { return t() + 1; }",
        "an indirect jump at t",
    ),
    "an unbalanced return": (
        '__attribute__((naked, noinline)) void bad(void) { __asm__("push {r4, r5}\\n bx lr"); }\n'
        "int main(void) { bad(); return 0; }",
        "a return at bad+0x2 with 8 bytes left on the stack",
    ),
    "a frame that depends on the way": (
        '__attribute__((naked, noinline)) void bad(int x) { __asm__("cmp r0, #0\\n bne 1f\\n push {r4}\\n'
        ' 1: nop\\n b 1b"); } int main(void) { bad(1); return 0; }',
        "depends on the way that leads there",
    ),
    "a return address that a store of several registers replaces": (
        '__attribute__((naked, noinline)) void bad(void) { __asm__("push {r4, lr}\\n stmia sp, {r0, r1}\\n pop {r4, pc}"); }\n'
        "int main(void) { bad(); return 0; }",
        "bad+0x",
    ),
    "another stack": ('int main(void) { __asm__ volatile("msr psp, %0" : : "r"(0x20000100)); return 0; }', "PSP is set"),
    "a supervisor call": (
        'int main(void) { __asm__ volatile("svc #1"); return 0; }',
        "a supervisor call, with a handler that uses the stack, too, at main",
    ),
    "an undefined instruction": (
        'int main(void) { __asm__ volatile(".inst.n 0xb7ff"); return 0; }',
        "code that the disassembler does not know",
    ),
    "printf": (
        "#include <stdio.h>\nint _write(int f, char *p, int n) { return n; } void *_sbrk(int n) { return (void *)-1; }\n"
        "int _close(int f) { return -1; } int _fstat(int f, void *s) { return -1; } int _isatty(int f) { return 1; }\n"
        "int _lseek(int f, int o, int w) { return 0; } int _read(int f, char *p, int n) { return 0; }\n"
        'volatile int n; int main(void) { return printf("%d", n); }',
        "an indirect call",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_proved_has_no_number_but_a_reason(tmp_path, name):
    code, reason = REFUSED[name]
    bound = bound_of(tmp_path, code, "-fno-optimize-sibling-calls" if "rec" in name or "cycle" in name else "-O2")
    assert bound.bytes is None and reason in bound.reason and bound.path[0] == "Reset_Handler"


@pytest.mark.parametrize("board", ["microbit", "mps2-an385", "mps2-an386", "stm32f7", "mps2-an505", "mps3-an547"])
def test_the_functions_of_libm_that_generated_code_calls_have_bounds(tmp_path, board):
    names = (
        "tanhf",
        "sinhf",
        "coshf",
        "expf",
        "logf",
        "powf",
        "erff",
        "sqrtf",
        "sinf",
        "cosf",
        "tanf",
        "asinf",
        "acosf",
        "atanf",
        "asinhf",
        "acoshf",
        "atanhf",
        "floorf",
        "ceilf",
        "roundf",
        "rintf",
        "fabsf",
        "fmodf",
        "fmaxf",
        "fminf",
        "expm1f",
        "log1pf",
    )
    calls = " ".join(f"f = {name}(f{', g' if name in ('powf', 'fmodf', 'fmaxf', 'fminf') else ''});" for name in names)
    elf = build(board, f"#include <math.h>\nvolatile float f = 0.5f, g = 1.5f; int main(void) {{ {calls} return 0; }}", tmp_path)
    bound = bounds(elf).program
    assert bound.bytes is not None, bound
    assert run_program(elf, load_board(board), work_folder=tmp_path).stack_high_water_bytes <= bound.bytes


def test_large_frames_of_thumb1_are_exact(tmp_path):
    code = (
        "volatile int n; __attribute__((noinline)) int f(void) { volatile char b[1200]; b[n] = 1; return b[n]; } "
        "int main(void) { return f() - 1; }"
    )
    bound = bound_of(tmp_path, code, board="microbit")
    assert 1200 < bound.bytes < 1264 and bound.path[-1] == "f"


def test_a_tail_call_is_no_deeper_than_its_callee(tmp_path):
    code = (
        "volatile int n; __attribute__((noinline)) int deep(void) { volatile char b[400]; b[n] = 1; return b[n]; }\n"
        "__attribute__((noinline)) int shallow(void) { volatile char b[200]; b[n] = 2; n = b[n]; return "
        "deep(); } int main(void) { return shallow(); }"
    )
    tail = bound_of(tmp_path, code, "-O2")
    assert dict(zip(tail.path, tail.held_bytes))["deep"] >= 400 and sum(tail.held_bytes) == tail.bytes
    assert tail.bytes < 480 < 600 < bound_of(tmp_path, code, "-O2", "-fno-optimize-sibling-calls").bytes


def test_a_naked_function_of_one_assembler_statement_is_walked(tmp_path):
    code = (
        '__attribute__((naked, noinline)) int f(int x) { __asm__("push {r4-r11, lr}\\n vpush {d8-d11}\\n sub '
        'sp, #100\\n add sp, #100\\n"\n'
        '" cmp r0, #1\\n itt eq\\n vpopeq {d8-d11}\\n popeq {r4-r11, pc}\\n vpop {d8-d11}\\n ldmia sp!, '
        '{r4-r11, lr}\\n bx lr"); }\n'
        "int main(void) { return f(1); }"
    )
    assert bound_of(tmp_path, code).bytes >= 36 + 32 + 100


def test_probes_below_the_stack_pointer_count(tmp_path):
    code = (
        "volatile int n; __attribute__((noinline)) int f(void) { volatile char b[300]; b[n] = 1; return b[n]; } "
        "int main(void) { return f() - 1; }"
    )
    elf = build("mps2-an386", code, tmp_path, flags=("-O2", "-fstack-clash-protection"))
    assert run_program(elf, load_board("mps2-an386"), work_folder=tmp_path).stack_high_water_bytes <= bounds(elf).program.bytes
    assert bound_of(tmp_path, code, "-O2").bytes <= bounds(elf).program.bytes
    probe = (
        '__attribute__((naked, noinline)) void f(void) { __asm__("str r0, [sp, #-200]\\n bx lr"); } int main(void) '
        "{ f(); return 0; }"
    )
    assert bound_of(tmp_path, probe).bytes >= 200


def test_far_jumps_of_large_functions_are_walked_once_each(tmp_path, monkeypatch):
    """Thumb-1 jumps further than 2 KB by `bl`, which looks like a call of another function."""
    blocks = "\n".join(f"while (n < {index}) {{ {'n++; ' * 400} }}" for index in range(4))
    code = (
        f"volatile int n; __attribute__((noinline)) int f(int x) {{ volatile char b[40]; b[x] = 1; {blocks} return b[x] + n; }}\n"
        "int main(void) { return f(5) == 0; }"
    )
    elf = build("microbit", code, tmp_path, flags=("-O1",))
    walks = []

    def walk(*arguments):
        walks.append(arguments)
        assert len(walks) < 40
        return call_walk.walk(*arguments)

    monkeypatch.setattr(stack, "walk", walk)
    used = run_program(elf, load_board("microbit"), work_folder=tmp_path).stack_high_water_bytes
    assert used <= bounds(elf).program.bytes < used + 8
    assert len(walks) > 8


def chain(functions: int, last: str) -> str:
    """Assembler functions that each hold 8 bytes and call the next one."""
    links = "\n".join(
        f".type f{index}, %function\n.thumb_func\nf{index}: push {{r4, lr}}\n bl f{index + 1}\n pop {{r4, pc}}"
        for index in range(functions)
    )
    text = f".syntax unified\n.text\n{links}\n.type f{functions}, %function\n.thumb_func\nf{functions}: {last}\n"
    body = "\n".join(f'"{line}\\n"' for line in text.splitlines())
    return f"__asm__({body});\nint f0(int); int main(void) {{ return f0(1) & 0; }}"


def test_calls_within_calls_have_a_bound_however_many(tmp_path, capsys):
    """Deeper than Python calls itself; the line shows both ends."""
    (tmp_path / "tall.toml").write_text('extends = "mps2-an386"\nstack_size = "24K"\n')
    tall = load_board("tall", [tmp_path])
    (tmp_path / "app.c").write_text(chain(2500, "bx lr"))
    elf = build_program(tall, [tmp_path / "app.c"], tmp_path / "app.elf", work_folder=tmp_path / "objects")
    bound = bounds(elf).program
    used = run_program(elf, tall, work_folder=tmp_path).stack_high_water_bytes
    assert 20000 < used <= bound.bytes < used + 64
    assert len(bound.path) == len(bound.held_bytes) > 2500 and sum(bound.held_bytes) == bound.bytes
    assert main(["check", str(elf), "--board", "tall", "--board-path", str(tmp_path)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "stack <=" in line)
    assert re.search(r"main \d+ > f0 8 > .* > \.\.\. 2,48\d calls with 19,8\d\d \.\.\. > f2490 8 > .* > f2499 8$", line)


def test_a_circle_of_any_length_is_refused_with_its_ends(tmp_path):
    bound = bound_of(tmp_path, chain(1500, "b f0"))
    assert bound.bytes is None and re.search(
        r"^recursion f1 > .* > f10 > \.\.\. 1,48\d calls \.\.\. > f1492 > .* > f1500 > f1$", bound.reason
    )


def test_a_jump_table_ends_where_constants_begin(tmp_path):
    code = (
        '__attribute__((naked, noinline)) int f(int x) { __asm__("cmp r0, #1\\n bhi 3f\\n tbh [pc, r0, lsl '
        '#1]\\n 9: .2byte (1f - 9b) / 2\\n"\n'
        '" .2byte (2f - 9b) / 2\\n .word 0x20018008, 0x42c00000\\n 1: push {r4, r5}\\n pop {r4, r5}\\n bx lr\\n"\n'
        '" 2: sub sp, #200\\n push {r0}\\n pop {r0}\\n add sp, #200\\n 3: bx lr"); }\nint main(void) { return f(1) - 1; }'
    )
    elf = build("mps2-an386", code, tmp_path)
    assert (
        run_program(elf, load_board("mps2-an386"), work_folder=tmp_path).stack_high_water_bytes == bounds(elf).program.bytes > 200
    )


@pytest.mark.parametrize("board", ["microbit", "mps2-an386", "mps3-an547"])
def test_calls_through_a_register_of_a_known_function_count(tmp_path, board):
    code = (
        "volatile int n; __attribute__((noinline)) int deep(void) { volatile char b[400]; b[n] = 1; return b[n]; } "
        "int main(void) { return deep() - 1; }"
    )
    near, far = (bound_of(tmp_path, code, "-O2", *flags, board=board) for flags in ((), ("-mlong-calls",)))
    assert far.bytes is not None and 400 < near.bytes <= far.bytes < 500 and far.path[-1] == "deep"


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_function_that_is_called_by_an_address_in_the_stack_counts_unless_its_callee_may_change_it(tmp_path, is_changed):
    """-mslow-flash-data -mlong-calls spills the addresses of functions; a variable of the same value is given away."""
    variable = "int (*volatile f)(void) = deep; give(&f); return f();"
    spilled = (
        'int s = 0; for (int i = 0; i < n; i++) { __asm__ volatile("" ::: "r4", '
        '"r5", "r6", "r7", "r8", "r9", "r10", "r11", "memory"); s += deep(); } return s - s;'
    )
    code = (
        "volatile int n = 3; "
        "__attribute__((noinline)) int deep(void) { volatile char b[400]; b[n] = 1; return b[n]; } "
        "__attribute__((noinline)) int deeper(void) { volatile char b[900]; b[n] = 1; return b[n] - 1; } "
        "__attribute__((noinline)) void give(int (*volatile *f)(void)) { *f = deeper; } "
        f"int main(void) {{ {variable if is_changed else spilled} }}"
    )
    bound = bound_of(tmp_path, code, "-O2", "-mlong-calls", "-mslow-flash-data", board="mps2-an386")
    assert (bound.bytes is None) == is_changed and (is_changed or bound.path[-1] == "deep")


def test_inner_parts_of_hand_written_code_return_to_it_or_for_it(tmp_path):
    code = (
        '__attribute__((naked, noinline)) int f(int x) { __asm__("push {r4, r5, lr}\\n bl 1f\\n bl 1f\\n cmp '
        'r0, #9\\n it eq\\n bleq 2f\\n"\n'
        '" pop {r4, r5, pc}\\n 1: push {r6, r7}\\n adds r0, #1\\n pop {r6, r7}\\n bx lr\\n 2: movs r0, #0\\n '
        'pop {r4, r5, pc}"); }\n'
        "int main(void) { return f(7); }"
    )
    elf = build("mps2-an386", code, tmp_path)
    result = run_program(elf, load_board("mps2-an386"), work_folder=tmp_path)
    assert (
        result.exit_code == 0 and result.stack_high_water_bytes <= bounds(elf).program.bytes <= result.stack_high_water_bytes + 64
    )


@needs_cross_cplusplus
def test_the_constructors_of_cplusplus_count(tmp_path):
    source = tmp_path / "app.cpp"
    source.write_text(
        "volatile int n; struct Seven { int value; Seven() { volatile char b[900]; b[n] = 7; value = b[n]; } };\n"
        "static Seven seven;\nint main() { return seven.value; }"
    )
    elf = build_program(load_board("stm32f4"), [source], tmp_path / "app.elf", work_folder=tmp_path)
    assert 900 < bounds(elf).program.bytes < 1000


def test_start_up_code_that_sets_the_stack_pointer_anew_is_understood(tmp_path):
    code = (
        "extern unsigned __stack_top[]; int main(void);\n"
        '__attribute__((naked)) void Start(void) { __asm__("ldr r0, =__stack_top\\n mov sp, r0\\n bl main\\n 1: b 1b"); }\n'
        '__attribute__((section(".vectors"), used)) void *const table[2] = {__stack_top, (void *)Start}; int '
        "main(void) { return 0; }"
    )
    (tmp_path / "bare.toml").write_text(
        'extends = "stm32f4"\nsources = []\nlink_flags = ["-nostdlib", "-Wl,--gc-sections", "-Wl,-e,Start"]\n'
    )
    (tmp_path / "app.c").write_text(code)
    elf = build_program(
        load_board("bare", [tmp_path]), [tmp_path / "app.c"], tmp_path / "app.elf", work_folder=tmp_path / "objects"
    )
    assert bounds(elf).program.bytes == 0


@pytest.mark.requirement("STK02")
def test_an_inference_keeps_its_bound_where_the_program_has_none(tmp_path, capsys):
    code = model("DTCM").replace(
        "int main(void) {", "int one(void) { return 1; } int (*volatile f)(void) = one;\nint main(void) { f();"
    )
    elf = build("stm32f7", code, tmp_path)
    assert main(["check", str(elf), "--board", "stm32f7"]) == 0
    assert "stack kws_run <= " in capsys.readouterr().out
    assert main(["check", str(elf), "--board", "stm32f7", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["stack_bound_bytes"] is None and "an indirect call at main" in found["stack_refused"]
    assert found["models"][0]["stack_bound_bytes"] > 0
    assert [(finding["code"], finding["severity"]) for finding in found["findings"]] == [("STK02", "warning")]


def test_the_line_of_the_check_names_bound_reserve_and_way(tmp_path, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    assert main(["check", str(elf), "--board", "stm32f7"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "stack" in line)
    assert re.fullmatch(
        r" *stack <= \d+ B of 4,096 B \(\+ \d+ B for an interrupt\)   (Reset_Handler \d+ > )?(aidge_start \d+ > )?main \d+ > "
        r"semihosting_write_integer \d+",
        line,
    )
    bound = int(re.search(r"<= (\d+)", line)[1])
    assert sum(map(int, re.findall(r"\w (\d+)(?: >|$)", line))) == bound


@pytest.mark.parametrize(
    "frame, budget, code", [(100, "40", "STK01"), (100, "4000", ""), (4000, "", "STK01"), (100, "0", "STK01")]
)
def test_a_stack_beyond_its_reserve_or_its_budget_fails(tmp_path, capsys, frame, budget, code):
    text = f"volatile int n; int main(void) {{ volatile char b[{frame}]; b[n] = 1; return b[n] - 1; }}"
    elf = build("stm32f7", text, tmp_path)
    exit_code = main(["check", str(elf), "--board", "stm32f7", "--json", *([f"--max-stack={budget}"] if budget else [])])
    errors = {finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"] if finding["severity"] == "error"}
    assert (exit_code, errors) == ((1, {code}) if code else (0, set()))


@pytest.mark.requirement("STK02")
def test_a_budget_that_cannot_be_proved_fails(tmp_path, capsys):
    elf = build("stm32f7", REFUSED["a function pointer"][0], tmp_path)
    assert main(["check", str(elf), "--board", "stm32f7"]) == 0
    assert main(["check", str(elf), "--board", "stm32f7", "--max-stack", "4096"]) == 1
    assert "error STK02: no stack bound: an indirect call at main" in capsys.readouterr().out


def test_without_a_disassembler_there_is_a_reason_and_with_a_budget_an_error(tmp_path, monkeypatch, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    monkeypatch.setenv("AIDGE_TOOLCHAIN_PREFIX", "no-such-")
    assert main(["check", str(elf), "--board", "stm32f7"]) == 0
    assert "warning STK02: no stack bound: no-such-objdump is not on this machine" in capsys.readouterr().out
    assert main(["check", str(elf), "--board", "stm32f7", "--max-stack", "4096"]) == 3


def test_a_program_of_this_machine_has_no_bound(tmp_path, capsys):
    elf = build("host", "int main(void) { return 0; }", tmp_path)
    assert main(["check", str(elf), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stack_bound_bytes"] is None
    assert main(["check", str(elf), "--max-stack", "100"]) == 2


@pytest.mark.parametrize("text", ["push\t{}", "pop\t{}", "vpush\t{}", "ldmia.w\tr0!, {}", "stmdb\tsp!, {}"])
def test_a_list_of_no_registers_is_code_that_nobody_knows(text):
    """objdump prints such lists of damaged code; they once ended in a fault of ours."""
    (instruction,) = read_disassembly(f" 8000000:\tb400      \t{text}").values()
    assert instruction.mnemonic == "<undefined>"


@pytest.mark.parametrize(
    "code, name, operands",
    [
        ("ea54 9414", "csinc", ("r4", "r4", "r4", "ne")),
        ("ea5f a08f", "csinv", ("r0", "pc", "pc", "hi")),
        ("ea54 c50d", "lsll", ("r4", "r5", "r12")),
        ("ea52 832d", "lsll", ("r2", "r3", "r8")),
        ("ea53 2f0d", "uqrshl", ("r3", "r2")),
        ("ea54 9d14", "<undefined>", ()),
        ("ea54 94e4", "<undefined>", ()),
        ("ea54 d414", "<undefined>", ()),
        ("ea5d 9414", "<undefined>", ()),
        ("ea5c cd0d", "<undefined>", ()),
        ("ea54 d50d", "<undefined>", ()),
        ("ea54 c51d", "<undefined>", ()),
        ("ea54 c40d", "<undefined>", ()),
    ],
)
def test_what_the_disassembler_does_not_know_of_armv81m_is_decoded_here(code, name, operands):
    (instruction,) = read_disassembly(f"  b6:\t{code} \t\t\t@ <UNDEFINED> instruction: 0x{code.replace(' ', '')}").values()
    assert (instruction.mnemonic, instruction.operands, instruction.size_bytes) == (name, operands, 4)


def test_code_for_the_m55_that_selects_by_condition_has_a_bound(tmp_path):
    code = (
        'volatile int a, b; __attribute__((naked, noinline)) int f(int x) { __asm__("push {r4, lr}\\n cmp r0, '
        '#1\\n mov r4, r0\\n"\n'
        '" .inst.w 0xea549414\\n mov r0, r4\\n pop {r4, pc}"); }\nint main(void) { return f(1) - 2; }'
    )
    elf = build("mps3-an547", code, tmp_path)
    result = run_program(elf, load_board("mps3-an547"), work_folder=tmp_path)
    assert (
        result.exit_code == 0 and result.stack_high_water_bytes <= bounds(elf).program.bytes <= result.stack_high_water_bytes + 64
    )


@pytest.mark.parametrize("flags", ["-O0", "-O2", "-Os"])
def test_shifts_of_64_bits_have_a_bound_on_every_core(tmp_path, flags):
    code = (
        "volatile long long q = 99; volatile int n = 5; int main(void) { long long v = q; v = v << n; v = v >> (n "
        "+ 1); q = (v >> 3) + (v << 7); return 0; }"
    )
    for board in ("microbit", "mps2-an386", "mps3-an547"):
        assert bound_of(tmp_path, code, flags, board=board).bytes is not None
