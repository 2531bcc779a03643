# SPDX-License-Identifier: MIT
"""Memories without a clock after reset: an access is a fault before the program sets the bits of their clock register."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import unicorn

from aidge_build.boards import Region

_PAGE = 4096  # bytes, of Unicorn


def guard_sleeping(core: unicorn.Uc, regions: Sequence[Region], refuse: Callable[[str], None]) -> None:
    """Calls `refuse` with the fault if a program accesses one of `regions` too early. The pages of the registers become plain
    memory."""
    asleep = {region: 0 for region in regions if region.clock}  # with the hook that guards it

    def on_clock(core: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
        for region in [region for region in asleep if region.clock == (address, value & region.clock[1])]:
            core.hook_del(asleep.pop(region))

    def on_memory(core: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
        if any(region.origin <= address < region.end for region in asleep):
            refuse(f"accesses 0x{address:08x} while its clock is off")

    for page in sorted({region.clock[0] // _PAGE * _PAGE for region in asleep}):
        core.mem_map(page, _PAGE)
    for region in asleep:
        accesses = unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE
        asleep[region] = core.hook_add(accesses, on_memory, begin=region.origin, end=region.end - 1)
    for register in sorted({region.clock[0] for region in asleep}):
        core.hook_add(unicorn.UC_HOOK_MEM_WRITE, on_clock, begin=register, end=register + 3)
