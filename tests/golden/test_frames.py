# SPDX-License-Identifier: MIT
"""What each kind of instruction does to what is known about stack and registers: the ground that stack bounds stand on."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf.frames import RETURN, Refusal, State, apply

# r3 is unknown; r4 lies in a table of jumps; -4 holds the return address.
REGISTERS = {"r0": ("stack", -16), "r1": ("number", 8), "r2": ("number", 0xFFFFFFF0), "r4": ("offset", 0x8000200)}
REGISTERS |= {"r5": ("number", 0x8000100), "r6": ("stack", 0), "r7": ("entry", 0x8000300), "lr": RETURN}
SLOTS = {-4: RETURN, -8: ("number", 5), -12: ("stack", -4), -16: ("number", 7)}
SLOTS |= {-40: ("number", 9), -36: RETURN, -32: ("stack", -40)}
MEMORY = {0x8000100: 0x11, 0x8000108: 0x22, 0x8000010: 0x33, 0x80000F0: 0x44}
WORDS = """
push {r4, r5, lr}; push {r0-r3, r12, lr}; stmdb sp!, {r1, r2}; vpush {d8-d9}; vstmdb sp!, {s16}; stmdb r0!, {r1, r2}
pop {r1, r2, r4}; pop {r4, pc}; pop {r3, lr}; ldmia sp!, {r8, r9}; vpop {d8}; ldmia r0!, {r1, r3}; ldmia r1, {r0, lr}
ldmia sp, {r0, r13}; add sp, #8; sub sp, #24; add sp, sp, #8; sub sp, sp, r1; sub sp, sp, r3; add sp, r1; mov sp, r0
mov sp, r1; mov sp, r3; subw sp, sp, #8; add r3, sp, #8; adds r3, r0, r1; adds r3, r1, r0; sub r3, r0, #4
subs r3, r1, #9; adds r0, #4; add r0, r2; sub r3, r0, r6; sub r3, r3, r0; add r3, r4, #4; add r3, r4, r1
add r3, r1, r4; add r3, r3, r1; sub r3, r4, #4; sub r3, r1, r3; adds r3, r0, r3; add r1, r1, r0, lsl #2; mov r3, r1
movs r3, #12; movw r3, #513; movt r1, #2; movt r3, #2; mvn r3, r1; mvns r3, #0; rsb r3, r1, #3; rsbs r3, r1, #10
negs r3, r1; neg r3, r2; lsl r3, r1, #4; lsls r3, r1, #40; lsls r3, r2, #1; lsl r3, r3, #1; orr r3, r1, r2
bic r3, r1, r2; lsr r1, r1, #1; asr r0, r0, #1; str r1, [sp, #4]; str r3, [sp, #4]; str r1, [r0]; strb r1, [r0]
strh r3, [r0, #2]; str r1, [r0, #-4]!; str r1, [r0], #4; str r1, [r3]; str r1, [r1]; str r1, [r4, #4]
str r1, [sp, r3]; strd r1, r2, [sp, #8]; strd r1, r3, [r0]; str lr, [sp, #-8]!; str r0, [sp], #4; strex r3, r1, [sp]
strexd r0, r1, r2, [sp, #4]; stlex r3, r1, [r0]; stl r1, [r0]; stmia sp, {r1, r2}; stmia r0!, {r1, r3}
vstr s0, [sp, #8]; vstr d8, [r0, #-8]; vst40.8 {q0, q1}, [r0]; vstrw.32 q0, [sp, #16]; vstrb.8 q0, [r3]
vstmia r0!, {d8-d9}; ldr r3, [sp, #4]; ldr r3, [sp]; ldr r3, [r0]; ldr r3, [r0, #4]; ldr r3, [r5]; ldr r3, [r5, #8]
ldr r3, [r5, #-16]; ldr r3, [pc, #12]; ldr r3, [pc, #8]; ldr r3, [r4, r1]; ldr r3, [r5, r3]; ldr r3, [r5, r3, lsl #2]
ldr r3, [r3]; ldr r1, [r0], #4; ldr r1, [r0, #4]!; ldr lr, [sp, #4]; ldr pc, [sp], #4; ldr pc, [sp, #4]
ldr pc, [r4, r3]; ldr pc, [r3]; ldr sp, [sp]; ldr sp, [sp, #8]; ldrb r1, [r0]; ldrh r0, [r0]; ldrd r0, r1, [sp]
ldrexd r1, r2, [r3]; ldrex r1, [r0]; mov pc, lr; mov pc, r3; bx lr; add pc, r3; mov lr, r1; mov r12, r0; mov r13, r0
cmp r0, r1; tst r0, r1; nop; vadd.i32 q0, q1, q2; vaddv.s32 r0, q1; vaddlv.s32 r0, r1, q2; vmov r0, s0
vmov r0, r1, d0; vmov s0, r0; umull r0, r1, r2, r3; smlal r0, r1, r2, r3; mla r0, r1, r2, r3; sdiv r0, r1, r2
lsll r0, r1, #3; csel r0, r1, r2, eq; cset r1, eq; msr MSP, r0; msr control, r0; msr PRIMASK, r0; mrs r0, MSP
clrm {r0, r1, lr}; vldmia r0!, {d0-d1}; vldr s0, [r0]; vmrs r1, fpscr; strange r0, r1
and r3, r1, r2; eor r3, r1, r2; mul r3, r1, r2; muls r1, r1; bics r1, r1; asr r3, r2, #2; lsr r3, r2, r1; lsr r3, r2, #28
lsl r3, r1, r2; and r3, r1, r2, lsl #1; orr r3, r1, r9; and r3, r0, r1; stmdb r0!, {r1, r3}; ldmia r1!, {r3}
mov r3, r1, lsl #2; mov r3, r2, asr #1; mov r3, r2, ror #1; mov r3, r0, lsl #2; mvn r3, r1, lsr #1; add r3, r1, r1, lsl #2
strb r1, [sp, #7]; strb r1, [sp, #8]; sub sp, sp, r1, lsl #1; mov r3, r9, lsl #1; orr r3, r1, r1, lsl #4
"""


def start() -> State:
    return State(-40, -40, dict(REGISTERS), dict(SLOTS), is_taken=True)


def states() -> Iterator[str]:
    words = [word.strip() for line in WORDS.strip().splitlines() for word in line.split(";")]
    lines = [f" {0x8000000 + 4 * index:x}:\t0000 0000\t{word.replace(' ', chr(9), 1)}" for index, word in enumerate(words)]
    for word, instruction in zip(words, read_disassembly("\n".join(lines)).values(), strict=True):
        state = start()
        try:
            to_pc = apply(state, instruction, instruction.mnemonic, lambda address: MEMORY.get(address))
        except Refusal as refusal:
            yield f"{word}: refused, {refusal}"
            continue
        changes = [f"sp {state.stack}"] * (state.stack != -40) + [f"lowest {state.lowest}"] * (state.lowest != -40)
        for before, after in ((REGISTERS, state.registers), (SLOTS, state.slots)):
            for key in sorted({*before, *after}, key=str):
                if before.get(key) != after.get(key):
                    changes.append(f"{key} = {after.get(key)}")
        yield f"{word}: {'; '.join(changes) or 'nothing'}" + (f"; pc = {to_pc}" if to_pc else "")


def test_what_an_instruction_changes_is_as_it_was(golden):
    golden("elf_frames", {"states.txt": ("\n".join(states()) + "\n").encode()})


def test_where_two_ways_meet_only_what_both_know_is_kept():
    one, two = start(), start()
    two.registers |= {"r1": ("number", 9), "r3": ("number", 1)}
    del two.slots[-8]
    assert one.meet(two) and one.registers == {name: value for name, value in REGISTERS.items() if name != "r1"}
    assert one.slots == {at: value for at, value in SLOTS.items() if at != -8} and not one.meet(two)
    assert one.value("sp") == ("stack", -40) and one.value("r3") is None and one.value("lr") == RETURN


def test_a_call_leaves_saved_registers_and_return_addresses():
    state = start()
    state.after_call()
    assert sorted(state.registers) == ["r4", "r5", "r6", "r7"] and state.slots == {-4: RETURN, -36: RETURN}
    copy = state.copy()
    copy.registers["r4"], copy.slots[0] = ("number", 1), ("number", 2)
    assert state.registers["r4"] == ("offset", 0x8000200) and 0 not in state.slots and (copy.stack, copy.lowest) == (-40, -40)


def test_a_call_leaves_numbers_that_were_spilled_as_long_as_no_address_in_the_stack_was_taken():
    for text, kept in (("add\tr0, r1, #28", [-20, -12]), ("add\tr0, sp, #28", []), ("add\tr0, sp, r3", [])):
        state = State(-40, slots={-20: ("number", 7), -12: ("number", 9)})
        (instruction,) = read_disassembly(f" 8000000:\tf020 0107 \t{text}").values()
        apply(state, instruction, instruction.mnemonic, lambda address: None)
        state.after_call()
        assert sorted(state.slots) == kept


def test_a_function_hands_back_eight_registers_as_it_found_them():
    assert State().lost == frozenset() and State(registers={}).lost == {f"r{number}" for number in range(4, 12)}
    state = State()
    state.registers["r7"] = ("stack", 0)
    assert state.lost == {"r7"}
    state.after_call(frozenset({"r8"}))
    assert state.lost == {"r7", "r8"}


def test_a_stack_pointer_that_is_aligned_is_as_much_lower_as_it_may_be():
    places = {}
    for bits in (7, 31, 63, 6):
        state = State(-40)
        for text in (f"bic\tr1, sp, #{bits}", "mov\tsp, r1"):
            (instruction,) = read_disassembly(f" 8000000:\tf020 0107 \t{text}").values()
            try:
                apply(state, instruction, instruction.mnemonic, lambda address: None)
            except Refusal as refusal:
                places[bits] = str(refusal)
        places.setdefault(bits, state.stack)
    assert places == {7: -47, 31: -71, 63: "the frame's size depends on data", 6: "the frame's size depends on data"}
