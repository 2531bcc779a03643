# SPDX-License-Identifier: MIT
"""The version of Unicorn to install, and a test that it executes conditional loads and stores rightly: 2.1.4 does not."""

from __future__ import annotations

import functools

from aidge_build.base.errors import MissingTool

INSTALL = "pip install --only-binary unicorn 'unicorn!=2.1.4'"  # 2.1.3, or 2.1.1 for Python 3.14

_CODE, _DATA, _BYTES = 0x08000000, 0x20000000, 0x1000
# A test of Unicorn, run twice: an access in an IT block, a compare that changes the flags, and a new block that adds 1 to r2.
_PROGRAM = b"".join(
    halfword.to_bytes(2, "little")
    for halfword in (
        0x2200,  # movs r2, #0
        *(
            0x2100,
            0x4289,
            0xBF08,
            0x6001,
            0x2901,
            0xE7FF,
            0x3201,
        ),  # movs r1, #0; cmp r1, r1; it eq; streq r1, [r0]; cmp r1, #1; b
        *(0x2100, 0x4289, 0xBF08, 0x6803, 0x2901, 0xE7FF, 0x3201),  # the same with ldreq r3, [r0]
    )
)


@functools.cache
def require_right_engine() -> None:
    """Raises MissingTool (EMULATOR) if Unicorn executes the code after a watched conditional access as conditional, too."""
    import unicorn
    from unicorn import arm_const

    core = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    core.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M4)
    core.mem_map(_CODE, _BYTES)
    core.mem_map(_DATA, _BYTES)
    core.mem_write(_CODE, _PROGRAM)
    core.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, lambda *access: None)
    core.reg_write(arm_const.UC_ARM_REG_R0, _DATA)
    core.emu_start(_CODE | 1, _CODE + len(_PROGRAM), count=len(_PROGRAM))
    if core.reg_read(arm_const.UC_ARM_REG_R2) != 2:
        raise MissingTool(
            f"unicorn {unicorn.__version__} executes wrongly what follows a conditional load or store",
            hint=f"{INSTALL}",
            code="EMULATOR",
        )
