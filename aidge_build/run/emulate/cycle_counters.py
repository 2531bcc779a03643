# SPDX-License-Identifier: MIT
"""The counters of cycles and the switches of caches that a core has, in an emulator that has neither cycles nor caches.

The counters count executed instructions. Sources: Armv7-M Architecture Reference Manual, C1.8.8 (DWT_CYCCNT), B3.3 (SysTick,
which counts down 24 bits), B3.2.8 (CCR, which switches caches on).
"""

from __future__ import annotations

from collections.abc import Callable

import unicorn
from unicorn import arm_const

from aidge_build.run.emulate.waits import Machine, map_memory

_CYCCNT, _SYST_CSR, _SYST_CVR = 0xE0001004, 0xE000E010, 0xE000E018
_CCR, _CACHES = 0xE000ED14, (("code", 1 << 17), ("data", 1 << 16))
_INTERRUPTS, _SYSTICK_VECTOR = 1 << 1, 4 * 15
_WORD, _TICK_BITS = (1 << 32) - 1, 24


def count_instructions(machine: Machine, executed: Callable[[], int]) -> None:
    """Stores the value of a counter before each read: `executed` gives the instructions so far. Before that, SysTick's interrupt
    comes once for each turn since the last read."""
    turns = 0

    def on_cycles(core: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
        machine.write(_CYCCNT, (executed() & _WORD).to_bytes(4, "little"))

    def on_ticks(core: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
        nonlocal turns
        now = executed()
        while turns < now >> _TICK_BITS:
            turns += 1
            _interrupt(machine)
        machine.write(_SYST_CVR, (-now & (1 << _TICK_BITS) - 1).to_bytes(4, "little"))

    for address, hook in ((_CYCCNT, on_cycles), (_SYST_CVR, on_ticks)):
        machine.machine.hook_add(unicorn.UC_HOOK_MEM_READ, hook, begin=address, end=address + 3)


def caches_left_off(machine: Machine) -> tuple[str, ...]:
    """Returns the core's own caches ("code", "data") that its control register leaves off."""
    if not machine.program.board.core.cache_line:
        return ()
    switches = int.from_bytes(machine.read(_CCR, 4), "little")
    return tuple(name for name, bit in _CACHES if not switches & bit)


def _interrupt(machine: Machine) -> None:
    """Another core executes the handler of SysTick on the same memories, if its interrupt is on."""
    if not machine.read(_SYST_CSR, 1)[0] & _INTERRUPTS:
        return
    handler = int.from_bytes(machine.read(machine.vectors + _SYSTICK_VECTOR, 4), "little")
    core, back = machine.core(), machine.vectors
    for region, memory in machine.memories.items():
        map_memory(core, region, memory)
    core.reg_write(arm_const.UC_ARM_REG_SP, machine.machine.reg_read(arm_const.UC_ARM_REG_SP))
    core.reg_write(arm_const.UC_ARM_REG_LR, back | 1)
    core.emu_start(handler | 1, back)
