# SPDX-License-Identifier: MIT
"""Texts of kernels that name values: each value gets a register, and the function computes the same."""

from __future__ import annotations

import os
import random
import re

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.registers.check import check
from aidge_build.contract.kernel_kit.registers.choice import choose
from aidge_build.contract.kernel_kit.registers.exchange import shorter
from aidge_build.contract.kernel_kit.registers.frame import Frame
from aidge_build.contract.kernel_kit.registers.named import Value, read
from aidge_build.contract.kernel_kit.registers.refusals import names_of
from aidge_build.contract.kernel_kit.registers.rules import rules_of
from aidge_build.contract.kernel_kit.registers.texts import assigned, with_registers
from aidge_build.contract.kernel_kit.registers.webs import webs_of

PARAMETERS = ("first", "second", "output", "numbers", "count")
STRESS = "AIDGE_STRESS" in os.environ
MOST_TURNS = 10_000
CALLER = {f"r{number}": 1000 + number for number in range(4, 12)} | {"lr": 5000}


def printed(*lines: str, parameters: tuple[str, ...] = PARAMETERS) -> list[str]:
    """The lines with registers."""
    return [text.strip() for text, _ in with_registers(tuple((line, "") for line in lines), parameters, "kernel")]


class Machine:
    """Executes a few instructions on registers, whatever their names are. `%turn` and `1b` are labels."""

    def __init__(self, lines: list[str], registers: dict[str, int], frame: int = 0):
        self.lines, self.registers, self.stores, self.stack = lines, dict(registers), [], {}
        self.waiting: dict[str, int] = {}
        self.top, self.frame = 0, frame
        self.labels = {line[:-1].lstrip("%"): number for number, line in enumerate(lines) if line.endswith(":")}

    def value(self, word: str) -> int:
        word = word.strip()
        return int(word[1:]) if word[0] == "#" else self.registers[word.lstrip("%")]

    def run(self) -> None:
        at = 0
        for _ in range(MOST_TURNS):
            if at >= len(self.lines):
                return
            at = self.step(self.lines[at], at)
        raise AssertionError("the machine does not end")

    def step(self, line: str, at: int) -> int:
        word, _, rest = line.partition(" ")
        operands = [each.strip() for each in re.split(r",(?![^{\[]*[}\]])", rest)]
        if word.startswith("b") and word != "bx":
            is_taken = word == "b" or (word == "bne") == (self.registers["flags"] != 0)
            return self.labels[re.sub(r"(?<=\d)[bf]$", "", operands[0].lstrip("%"))] if is_taken else at + 1
        if word in ("%leave", "bx"):
            return len(self.lines)
        if not line.endswith(":") and not line.startswith("%enter"):
            getattr(self, word)(*operands)
        return len(self.lines) if word == "pop" and "pc" in rest else at + 1

    def names(self, listed: str) -> list[str]:
        found = []
        for word in listed.strip("{} ").split(","):
            first, _, last = word.strip().lstrip("%").partition("-")
            found += [f"r{number}" for number in range(int(first[1:]), int(last[1:]) + 1)] if last else [first]
        return found

    def write(self, name: str, value: int) -> None:
        self.registers[name.lstrip("%")] = value & 0xFFFFFFFF

    def mov(self, target, source):
        self.write(target, self.value(source))

    def add(self, target, left, right):
        if target == "sp":
            self.top += int(right[1:])
            return
        self.write(target, self.value(left) + self.value(right))

    def sub(self, target, left, right):
        if target == "sp":
            self.top -= int(right[1:])
            return
        self.write(target, self.value(left) - self.value(right))

    def eor(self, target, left, right):
        self.write(target, self.value(left) ^ self.value(right))

    def mla(self, target, left, right, more):
        self.write(target, self.value(left) * self.value(right) + self.value(more))

    def subs(self, target, left, right):
        self.write(target, self.value(left) - self.value(right))
        self.registers["flags"] = self.registers[target.lstrip("%")]

    def address(self, operand: str) -> tuple[str, int]:
        words = operand.strip("[]").split(",")
        return words[0].lstrip("%"), int(words[1].strip()[1:]) if len(words) > 1 else 0

    def ldr(self, target, operand):
        if operand.startswith("[%argument"):
            self.write(target, 77)
            return
        base, offset = self.address(operand)
        self.write(target, self.stack.get(self.top + offset, 77) if base == "sp" else self.registers[base] * 3 + offset)

    def ldrd(self, one, other, operand):
        base, offset = self.address(operand)
        self.ldr(one, f"[{base}, #{offset}]")
        self.ldr(other, f"[{base}, #{offset + 4}]")

    def str(self, source, operand):
        base, offset = self.address(operand)
        if base == "sp":
            self.stack[self.top + offset] = self.value(source)
        else:
            self.stores.append((self.registers[base] + offset, self.value(source)))

    def strd(self, one, other, operand):
        base, offset = self.address(operand)
        self.str(one, f"[{base}, #{offset}]")
        self.str(other, f"[{base}, #{offset + 4}]")

    def vmov(self, *operands):
        half = len(operands) // 2
        for target, source in zip(operands[:half], operands[half:], strict=True):
            self.registers[target] = self.registers[source]

    def ldm(self, base, listed):
        place = self.registers[base.lstrip("%")]
        for number, name in enumerate(self.names(listed)):
            self.write(name, place * 5 + number)

    def push(self, listed):
        names = self.names(listed)
        self.top -= 4 * len(names)
        self.stack |= {self.top + 4 * number: self.registers[name] for number, name in enumerate(names)}

    def pop(self, listed):
        for number, name in enumerate(self.names(listed)):
            self.registers["lr" if name == "pc" else name] = self.stack[self.top + 4 * number]
        self.top += 4 * len(self.names(listed))

    def vpush(self, listed):
        self.top -= 64

    def vpop(self, listed):
        self.top += 64

    def put(self, *names):
        self.waiting |= {name: self.value(name) for name in names}

    def get(self, *names):
        for name in names:
            self.write(name, self.waiting[name])


def drawn(draw: random.Random) -> list[str]:
    """A text with loops whose bodies read and write up to eleven values, some of which wait."""
    names = [f"v{number}" for number in range(draw.randint(3, 18))]
    lines = ["%enter.floats" if draw.random() < 0.4 else "%enter"]
    some = draw.sample(names, 3)
    lines += [f"ldm %numbers, {{{', '.join(f'%{name}' for name in some)}}}"]
    lines += [f"add %{name}, %first, #{number}" for number, name in enumerate(names) if name not in some]
    waiting = draw.sample(names, 2)
    lines.append(f"put %{waiting[0]}, %{waiting[1]}")
    for loop in range(draw.randint(1, 3)):
        lines += [f"mov %left, #{draw.randint(1, 4)}", f"%turn{loop}:"]
        for _ in range(draw.randint(2, 9)):
            one, two, three, four = (f"%{draw.choice(names)}" for _ in range(4))
            lines.append(
                draw.choice(
                    (
                        f"add {one}, {two}, {three}",
                        f"eor {one}, {two}, {three}",
                        f"mla {one}, {two}, {three}, {four}",
                        f"mov {one}, {two}",
                        f"ldr {one}, [%second, #{4 * draw.randint(0, 3)}]",
                        f"str {one}, [%output, #{4 * draw.randint(0, 3)}]",
                        f"get %{waiting[0]}, %{waiting[1]}",
                        f"put {one}\nget {one}",
                    )
                )
            )
        if draw.random() < 0.5:
            lines += [
                f"subs %test, %{names[0]}, %{names[1]}",
                f"beq %over{loop}",
                f"add %{names[1]}, %{names[2]}, #3",
                f"%over{loop}:",
            ]
        lines += ["subs %left, %left, #1", f"bne %turn{loop}"]
    lines += [f"str %{name}, [%output, #{4 * number}]" for number, name in enumerate(names)]
    return [each for line in [*lines, "%leave"] for each in line.split("\n")]


@pytest.mark.parametrize("seed", range(1000 if STRESS else 40))
def test_a_function_computes_the_same_with_registers_and_gives_its_callers_registers_back(seed):
    lines = drawn(random.Random(seed))
    start = {"flags": 0} | dict(zip(PARAMETERS, (11, 23, 4096, 41, 5), strict=True))
    named = Machine(lines, start)
    named.run()
    real = Machine(printed(*lines), CALLER | {"flags": 0, "r0": 11, "r1": 23, "r2": 4096, "r3": 41})
    real.run()
    assert real.stores == named.stores
    assert {name: real.registers[name] for name in CALLER} == CALLER
    assert real.top == 0


@pytest.mark.parametrize("seed", range(1000 if STRESS else 20))
def test_a_wrong_register_is_found_unless_nothing_reads_it(seed):
    draw = random.Random(seed)
    lines = drawn(draw)
    function = read(lines, PARAMETERS)
    webs = webs_of(function.steps)
    chosen = choose(function.steps, webs, False, PARAMETERS)
    if chosen is None:
        return
    texts, frame = assigned(function, webs, chosen)
    found = 0
    for number in draw.sample(range(len(texts)), min(12, len(texts))):
        registers = sorted(set(re.findall(r"\b[rs]\d+\b", texts[number])))
        if not registers or "%" in texts[number].split()[0]:
            continue
        one = draw.choice(registers)
        other = draw.choice([name for each in range(13) if (name := f"{one[0]}{each}") not in registers])
        wrong = [*texts[:number], re.sub(rf"\b{one}\b", other, texts[number], count=1), *texts[number + 1 :]]
        try:
            check(function, wrong, PARAMETERS, frame.save, "kernel")
        except AidgeError:
            found += 1
        else:
            assert stores(with_instructions(lines, wrong, frame)) == stores(with_instructions(lines, texts, frame))
    assert found > 0


def with_instructions(lines: list[str], texts: list[str], frame: Frame) -> list[str]:
    """The text with these instructions in the place of its own."""
    instructions = iter(texts)
    found = []
    for line in lines:
        text = line if line.endswith(":") else next(instructions)
        found += frame.save if text.startswith("%enter") else frame.restore if text == "%leave" else [text] if text else []
    return found


def stores(lines: list[str]) -> list[tuple[int, int]]:
    """What a text with registers stores."""
    machine = Machine(
        lines, CALLER | {"flags": 0, "r0": 11, "r1": 23, "r2": 4096, "r3": 41, "r12": 6} | {f"s{n}": n for n in range(32)}
    )
    machine.run()
    return machine.stores


def test_lists_rise_and_pairs_of_places_are_neighbours():
    text = printed(
        "%enter",
        "ldm %numbers!, {%a, %b, %c}",
        "put %c, %a",
        "get %c, %a",
        "str %a, [%output]",
        "str %b, [%output]",
        "str %c, [%output]",
        "%leave",
    )
    listed = re.findall(r"r\d+", next(line for line in text if line.startswith("ldm")).partition("{")[2])
    assert [int(name[1:]) for name in listed] == sorted(int(name[1:]) for name in listed)
    assert sum(line.startswith(("strd", "ldrd")) for line in text) == 2


def test_instructions_of_armv6m_get_low_registers():
    names = [f"v{number}" for number in range(9)]
    lines = [f"mov %{name}, %first" for name in names] + [f"add %first, %{name}" for name in names]
    text = printed("%enter.low", *lines, "muls %v0, %v1", "str %v0, [%output]", "%leave")
    (product,) = (line for line in text if line.startswith("muls"))
    assert all(int(name) < 8 for name in re.findall(r"r(\d+)", product))
    assert not any(re.match(r"push .*r([89]|1[01])", line) for line in text)


def test_values_that_wait_and_that_meet_a_number_are_in_low_registers_of_armv6m():
    names = [f"v{number}" for number in range(6)]
    lines = [f"{word} %{name}" for name in names for word in ("put", "get")]
    text = printed(
        "%enter.low",
        "ldm %numbers!, {" + ", ".join(f"%{name}" for name in names[:4]) + "}",
        "mov %v4, %first",
        "mov %v5, %first",
        *lines,
        *(f"add %first, %{name}" for name in names),
        "mov %other, %second",
        "cmp %other, #3",
        "muls %first, %second",
        "str %first, [%output]",
        "%leave",
    )
    assert not any(line.startswith(("strd", "ldrd")) for line in text)
    reached = [number for line in text if line.startswith(("str", "ldr", "cmp")) for number in re.findall(r"\br(\d+)", line)]
    assert all(int(number) < 8 for number in reached)


def test_words_of_the_frame_keep_their_order_before_values_that_wait():
    text = printed(
        "%enter.low",
        "%frame outputs.6, bits",
        "put %numbers",
        "add %to, sp, %frame.bits",
        "str %first, [sp, %frame.outputs.5]",
        "str %second, [%to]",
        "get %numbers",
        "ldr %count, [%argument.4]",
        "str %count, [%numbers]",
        "%leave",
    )
    assert [re.sub(r"\br\d+", "r", line) for line in text] == [
        "sub sp, sp, #32",
        "str r, [sp, #28]",
        "add r, sp, #24",
        "str r, [sp, #20]",
        "str r, [r]",
        "ldr r, [sp, #28]",
        "ldr r, [sp, #32]",
        "str r, [r]",
        "add sp, sp, #32",
        "bx lr",
    ]


def test_a_move_within_a_register_stays_where_its_flags_are_read():
    lines = ["movs %a, %first", "beq %none", "ldr %a, [%a]", "str %a, [%output]", "%none:", "str %first, [%second]", "%leave"]
    for enter in ("%enter", "%enter.low"):
        assert sum(line.startswith("movs") for line in printed(enter, *lines)) == 1
        assert "movs r0, r0" in printed(enter, *lines[:2], *lines[4:])
        assert not any(line.startswith("movs") for line in printed(enter, lines[0], *lines[2:4], "%leave"))


def test_low_registers_go_to_the_values_that_make_most_instructions_short():
    lines = ["%enter", "mla %a, %first, %b, %b", "subs %b, %b, #1", "adds %b, %b, #2", "str %a, [%first]", "%leave"]
    function = read(lines, ("first",))
    webs = webs_of(function.steps)
    rules = rules_of(function.steps, webs, False, ("first",))
    first, a, b = (webs.values.index(Value("r", name)) for name in ("first", "a", "b"))
    joined = {first: {a, b}, a: {first, b}, b: {first, a}}
    best = {first: "r0", a: "r9", b: "r5"}
    assert shorter({first: "r0", a: "r5", b: "r9"}, rules, joined) == shorter(best, rules, joined) == best
    rules.lists[a] = rules.lists[b] = [((a, b), False)]  # numbers rise
    assert shorter({first: "r0", a: "r5", b: "r9"}, rules, joined) == {first: "r0", a: "r5", b: "r9"}


def test_pairs_that_wait_find_neighbouring_places_wherever_one_of_them_waits_alone():
    lines = [f"ldr %a{number}, [%first]\nput %a{number}" for number in range(8)]
    turn = [f"get %a{number}\nadd %b{number}, %a{number}, #1\nput %a{number}, %b{number}" for number in range(8)]
    end = [f"get %b{number}\nstr %b{number}, [%second]" for number in range(8)]
    lines += ["%turn:", *turn, "subs %first, %first, #4", "bne %turn", *end]
    text = printed("%enter", *(each for line in lines for each in line.split("\n")), "%leave")
    assert "sub sp, sp, #64" in text
    assert sum(line.startswith("strd") for line in text) >= 8


def test_neighbours_that_move_one_value_each_join_in_the_order_of_the_pairs_that_the_text_names():
    lines = [
        "ldrd %a, %b, [%first]",
        "put %a, %b",
        "ldrd %c, %d, [%first]",
        "put %c",
        "put %d",
        "get %b",
        "get %a",
        "get %c",
        "get %d",
    ]
    text = printed("%enter", *lines, "strd %a, %b, [%second]", "strd %c, %d, [%second]", "%leave")
    assert sum(line.startswith(("ldrd", "strd")) and "[sp" in line for line in text) == 4


def test_a_constant_of_shifted_bits_is_no_value_that_the_instruction_reads():
    assert printed("%enter", "mov %a, #1048576", "str %a, [%output]", "%leave")[0].startswith("mov ")


def test_sums_across_vectors_go_to_even_registers():
    text = printed(
        "%enter",
        "vldrb.u8 %q.a, [%first]",
        "vldrb.u8 %q.b, [%second]",
        "vmladav.s8 %low, %q.a, %q.b",
        "vmlaldav.s16 %lower, %higher, %q.a, %q.b",
        "str %low, [%output]",
        "str %lower, [%output]",
        "str %higher, [%output]",
        "%leave",
    )
    low, lower, higher = (int(number) for line in text if line.startswith("vmla") for number in re.findall(r"\br(\d+)", line))
    assert low % 2 == lower % 2 == 0
    assert higher % 2 == 1


def test_vectors_that_widen_have_low_addresses_and_gathered_ones_do_not_replace_their_offsets():
    names = [f"v{number}" for number in range(7)]
    text = printed(
        "%enter",
        *(f"ldr %{name}, [%first, #{4 * number}]" for number, name in enumerate(names)),
        "vldrb.s16 %q.a, [%v6], #8",
        "vldrh.u16 %q.b, [%second, %q.a, uxtw #1]",
        "vstrb.16 %q.b, [%v6]",
        *(f"str %{name}, [%output, #{4 * number}]" for number, name in enumerate(names)),
        "%leave",
    )
    widening, gathering, narrowing = (line for line in text if line.startswith(("vld", "vst")))
    assert all(re.search(r"\[r[0-7]\]", line) for line in (widening, narrowing))
    assert len(set(re.findall(r"q\d", gathering))) == 2


def test_parameters_on_the_stack_are_behind_all_that_is_saved():
    text = printed("%enter", "put %first", "ldr %end, [%argument.4]", "get %first", "str %end, [%first]", "%leave")
    assert text[:3] == ["sub sp, sp, #4", "str r0, [sp, #0]", "ldr r0, [sp, #4]"]


def test_a_function_that_needs_no_more_registers_saves_none():
    assert printed("%enter", "ldr %a, [%first]", "str %a, [%second]", "%leave")[-1] == "bx lr"


def test_a_result_is_in_the_first_register():
    lines = "ldr %left, [%second]", "adds %sum, %left, %first"
    assert printed("%enter", *lines, "%leave %sum")[-2:] == ["adds r0, r1, r0", "bx lr"]
    kept = printed("%enter", *lines, "%turn:", "str %sum, [%first]", "bne %turn", "mov %result, %sum", "%leave %result")
    assert kept[-2].startswith("mov r0, ")
    assert printed("%enter", "%leave %first") == ["bx lr"]
    with pytest.raises(AidgeError, match="needs more registers"):
        printed("%enter", "%leave %second")


def test_a_name_that_is_kept_has_one_register_of_its_own():
    lines = ["ldr %left, [%first]", "str %left, [%first]", "ldr %right, [%first]", "str %right, [%first]"]
    lines += ["ldr %other, [%first]", "ldr %left, [%first]", "adds %left, %left, %other", "str %left, [%first]", "%leave"]

    def loaded(*declared: str) -> list[str]:
        return [line.split()[1] for line in printed("%enter", *declared, *lines) if line.startswith("ldr")]

    left, right, _, again = loaded("%keep left, right")
    assert left == again != right
    left, _, _, again = loaded()
    assert left != again


def test_values_that_wait_after_each_other_share_a_place():
    text = printed("%enter", *(f"{way} %{name}" for name in ("first", "second") for way in ("put", "get")), "%leave")
    assert [line for line in text if "sp" in line][0] == "sub sp, sp, #4"


def test_a_jump_before_aligned_text_reaches_its_label():
    lines = ["%enter", "cmp %first, #0", "beq %end", "    .p2align 2", "str %first, [%first]", "%end:", "%leave"]
    function = read(lines, ("first",))
    assert function.steps[2].following == (3, 4)


def test_a_register_that_a_text_writes_itself_holds_its_parameter_no_longer():
    with pytest.raises(AidgeError, match="reads r0, which does not hold first"):
        printed("%enter", "mov r0, %second", "str %second, [%first]", "%leave")


def test_free_registers_are_used_before_ones_that_a_function_must_save():
    text = printed(
        "%enter",
        *(f"vldmia %first!, {{{', '.join(f'%s.{name}{number}' for number in range(4))}}}" for name in "abcd"),
        *(f"vadd.f32 %s.{name}{number}, %s.{name}{number}, %s.a{number}" for name in "bcd" for number in range(4)),
        *(f"vstmia %second!, {{{', '.join(f'%s.{name}{number}' for number in range(4))}}}" for name in "dcb"),
        "ldr %one, [%output]",
        "ldr %other, [%output, #4]",
        "strd %one, %other, [%numbers]",
        "str %one, [%output]",
        "%leave",
    )
    assert not any(line.startswith(("push", "vpush")) for line in text)


def test_one_or_several_float_registers_of_the_caller_are_saved():
    for last, saved in ((16, "{s16}"), (17, "{d8}"), (18, "{s16-s18}"), (19, "{d8-d9}")):
        assert printed("%enter", f"vldr s{last}, [%first]", "%leave")[0] == f"vpush {saved}"


def test_a_call_gets_its_arguments_and_changes_no_value_that_is_needed_after_it():
    lines = "ldr %sum, [%first]", "add %from, %second, #4", "put %output", "ldr %kept, [%numbers]"
    after = "get %output", "str %kept, [%output]", "str %level, [%output, #4]", "%leave"
    text = printed("%enter", *lines, "call rounded(%sum, %from) %level", *after)
    assert text == [
        "push {r4, lr}",
        "sub sp, sp, #8",
        "ldr r0, [r0]",
        "add r1, r1, #4",
        "str r2, [sp, #0]",
        "ldr r4, [r3]",
        "call rounded",
        "ldr r2, [sp, #0]",
        "str r4, [r2]",
        "str r0, [r2, #4]",
        "add sp, sp, #8",
        "pop {r4, pc}",
    ]


def test_values_wait_in_float_registers_that_a_function_need_not_save():
    lines = (each for number in range(20) for each in (f"vldr %s.v{number}, [%first]", f"vstr %s.v{number}, [%second]"))
    text = printed("%enter.floats", "put %output", *lines, "get %output", "str %first, [%output]", "%leave")
    assert text[0] == "vmov s15, r2"
    assert text[-1] == "bx lr"


def test_too_many_values_are_refused_with_the_name_of_the_function():
    names = ", ".join(f"%v{number}" for number in range(14))
    lines = [f"ldm %numbers!, {{{names}}}", f"stm %numbers!, {{{names}}}"]
    with pytest.raises(AidgeError, match="kernel: needs more registers than there are"):
        printed("%enter", *lines, "%leave")


def test_a_value_with_the_name_of_a_label_is_refused():
    with pytest.raises(AidgeError, match="names a value as a label is called"):
        printed("%enter", "%row:", "subs %row, %first, #1", "bne %row", "%leave")


def test_a_call_is_refused():
    with pytest.raises(AidgeError, match="call other"):
        printed("%enter", "call other", "%leave")


def test_the_return_address_is_saved_where_a_loop_counts_in_its_register():
    text = printed("%enter", "dls lr, %second", "%turn:", "ldr %a, [%first]", "le lr, %turn", "str %a, [%output]", "%leave")
    assert text[0] == "push {lr}" and text[-1] == "pop {pc}"


def test_a_loop_of_its_own_keeps_the_counter_of_the_core():
    names = [f"v{number}" for number in range(9)]
    lines = [f"ldr %{name}, [%first, #{4 * number}]" for number, name in enumerate(names)]
    body = [f"add %{name}, %{name}, #1" for name in names]
    ends = [f"str %{name}, [%output, #{4 * number}]" for number, name in enumerate(names)]
    text = printed("%enter", *lines, "dls lr, %second", "%turn:", *body, "le lr, %turn", *ends, "%leave")
    assert not any(re.match(r"(add|ldr) lr,", line) for line in text)
    assert text[0].startswith("push") and "lr" in text[0]


def test_a_counter_with_a_name_is_in_the_register_of_the_core_for_counters_and_leaves_it_to_others_outside_of_its_loop():
    sums = [f"%sum{number}" for number in range(8)]
    lines = ["dls %turns, %second", "%turn:", "ldr %x, [%first], #4", "le %turns, %turn", "ldrd %low, %high, [%numbers]"]
    adds = [f"vmladav.s8 {sum_}, %q.a, %q.b" for sum_ in sums]
    ends = [f"str {sum_}, [%to, #{4 * number}]" for number, sum_ in enumerate(sums)]
    begin = ["mov %to, %output", "vldrb.u8 %q.a, [%first]", "vldrb.u8 %q.b, [%second]"]
    text = printed("%enter", *lines, "str %x, [%output]", *begin, *adds, *ends, "str %low, [%to]", "str %high, [%to]", "%leave")
    assert "dls lr, r1" in text and "le lr, 1b" in text
    assert "vmladav.s8 lr, q0, q1" in text, "eight sums take all even registers"


def test_stored_lists_are_neighbours_and_series_move_an_even_register_on():
    vectors = [f"%q.v{number}" for number in (3, 0, 2, 1)]
    text = printed(
        "%enter",
        "movs %number, #0",
        *(f"vidup.u32 {vector}, %number, #4" for vector in sorted(vectors)),
        f"vst40.32 {{{', '.join(vectors)}}}, [%output]",
        "str %number, [%output]",
        "%leave",
    )
    assert [line for line in text if line.startswith("vst")] == ["vst40.32 {q0, q1, q2, q3}, [r2]"]
    moved = {re.findall(r"\br\d+", line)[0] for line in text if line.startswith(("vidup", "str"))}
    assert len(moved) == 1 and int(moved.pop()[1:]) % 2 == 0


@pytest.mark.parametrize("change", ["vrshl.s32 %q.a, %second", "vorr.i32 %q.a, #64", "vbic.i32 %q.a, #64", "vshl.i32 %q.a, #4"])
def test_a_vector_that_changes_in_its_place_is_read(change):
    others = [f"vldrw.u32 %q.b{number}, [%first, #{16 * number}]" for number in range(3)]
    stores = [f"vstrw.32 %q.{name}, [%output], #16" for name in ("a", "b0", "b1", "b2")]
    text = printed("%enter", "vldrw.u32 %q.a, [%second]", *others, change, *stores, "%leave")
    loaded, changed, stored = (
        next(line for line in text if line.startswith(word)).split()[1] for word in ("vldrw", change[:4], "vstrw")
    )
    assert loaded == changed == stored


def test_values_apart_share_no_register_though_none_is_alive_when_the_other_is_written():
    names = [f"%v{number}" for number in range(8)]
    lines = [line for name in names for line in (f"ldr {name}, [%first], #4", f"str {name}, [%output], #4")]
    loaded = (
        re.findall(r"ldr (\w+)", " ".join(printed("%enter", *more, *lines, "%leave")))
        for more in ((), (f"apart {', '.join(names)}",))
    )
    free, apart = (len(set(registers)) for registers in loaded)
    assert free < apart == len(names)


def test_a_counter_waits_for_nobody():
    names = [f"%v{number}" for number in range(14)]
    loads, stores = ([f"{way} {name}, [%first, #{4 * number}]" for number, name in enumerate(names)] for way in ("ldr", "str"))
    text = printed("%enter", "dls %turns, %second", "%turn:", *loads, *stores, "le %turns, %turn", "%leave")
    assert text[text.index("le lr, 1b") - 1].startswith("str") and not any(re.match("(ldr|str) lr", line) for line in text)


def test_a_vector_that_lanes_begin_is_not_kept_from_one_turn_to_the_next():
    lanes = ["vmov %q.{0}[2], %q.{0}[0], %first, %second", "vmov %q.{0}[3], %q.{0}[1], %first, %second", "vstrw.32 %q.{0}, [%to]"]
    body = [line.format(f"v{number}") for number in range(9) for line in ("begin %q.{0}", *lanes)]
    text = printed("%enter", "mov %to, %output", "%turn:", *body, "subs %numbers, %numbers, #1", "bne %turn", "%leave")
    assert not any("begin" in line or "push" in line for line in text)
    with pytest.raises(AidgeError, match="does not hold q.v0"):
        printed("%enter", "mov %to, %output", *(line.format("v0") for line in lanes), "%leave")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("begin %first",), "is no instruction"),
        (("%a:", "%a:"), "is there twice"),
        (("1:", "b 1b"), "is no label"),
        (("push {r4}",), "names the stack pointer"),
        (("popne {r4}",), "names the stack pointer"),
        (("sub sp, sp, #8",), "names the stack pointer"),
        (("mov ip, #2",), "names a register by another name"),
        (("bx lr",), "only %leave does"),
        (("b %elsewhere",), "jumps to no label"),
        (("le lr, %elsewhere",), "jumps to no label"),
        (("ldr %x, [%argument.1]",), "names no parameter on the stack"),
        (("ldr %x, [%argument.9]",), "names no parameter on the stack"),
        (("mpy %first, %first",), "is no instruction"),
        (("put %first, %second, %output",), "names one or two values"),
        (("put r4",), "names one or two values"),
        (("mov %first, #1; mov %second, #2",), "is more than one instruction"),
        (("%turn: mov %first, #1",), "is a label and an instruction"),
        (("ldr %x, [%argument4]", "%leav %"), "has a % without the name of a value"),
        (("vld20.8 {%q.a, %q.b}, [%first]",), "writes more than this package knows"),
        (("vldrb.u8 %q.a, [%first]", "vldr %s.b, [%second]"), "share registers"),
        (("vldrb.u8 %q.a, [%first]", "vldr d0, [%second]"), "share registers"),
        (("%enter",), "does not begin with its one %enter"),
    ],
)
def test_lines_that_would_mean_something_else_are_refused(lines, reason):
    with pytest.raises(AidgeError, match=f"kernel: .*{re.escape(reason)}"):
        printed("%enter", *lines, "%leave")


def test_a_function_that_does_not_end_is_refused():
    with pytest.raises(AidgeError, match="the function goes on"):
        printed("%enter", "mov %first, #1")


def test_a_parameter_outside_the_registers_of_the_core_is_refused():
    with pytest.raises(AidgeError, match="`float scale` is not passed in one register"):
        names_of("const int8_t *x, float scale", "kernel")
    assert names_of("const int8_t *const *rows, int32_t x[4], const float *y", "kernel") == ("rows", "x", "y")
