# SPDX-License-Identifier: MIT
"""C that damages the replaceable weights of a model, or memory next to its arena, and expects that the model refuses."""

from __future__ import annotations

from aidge_build.plan.integrity import Integrity, canary_offsets
from aidge_build.plan.program import Program

_WEIGHTS = """
static uint8_t damaged[1 << 20] __attribute__((aligned(64)));
static uint32_t crc_of(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
    for (; bytes > 0u; bytes--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1u) != 0u ? 0xedb88320u : 0u);
    }
    return crc;
}
/* Gives a word of the head another value, with a check sum that fits. */
static void seal(uint32_t word, uint32_t value)
{
    uint32_t *const head = (uint32_t *)damaged;
    (void)memcpy(damaged, NAME_weights, NAME_weights_bytes);
    head[word] = value;
    head[17] = ~crc_of(crc_of(0xffffffffu, damaged, 68u), &damaged[72], NAME_weights_bytes - 72u);
}
static int refuses_damage(void)
{
    const uint32_t all = NAME_weights_bytes, *const head = (const uint32_t *)NAME_weights;
    uint32_t place;
    if (all > sizeof damaged)
        return 0;
    (void)memcpy(damaged, NAME_weights, all);
    for (place = 0; place < all; place += place < 256u ? 1u : 997u) { /* each byte of the head, some of the others */
        damaged[place] ^= 1u;
        if (NAME_bind(SELF_damaged, all) == 0 || NAME_newer(damaged, damaged, all) != 0)
            return 0;
        damaged[place] ^= 1u;
    }
    for (place = 0; place < 19u; place++) {
        if (place == 3u || (place > 7u && place < 16u) || place == 17u)
            continue; /* the version, digests that only the tool reads, the check sum */
        for (int way = 0; way < 3; way++) {
            seal(place, way == 0 ? 0u : way == 1 ? head[place] + 1u : 0xffffffffu);
            if (NAME_bind(SELF_damaged, all) == 0)
                return 0;
        }
    }
    seal(3u, head[3] + 1u); /* a newer version, which is bound from here on */
    return NAME_newer(NAME_weights, damaged, all) == (const void *)damaged &&
           NAME_newer(damaged, NAME_weights, all) == (const void *)damaged &&
           NAME_newer(0, damaged, all) == (const void *)damaged && NAME_newer(0, 0, all) == 0 &&
           NAME_newer(NAME_weights, 0, all) == (const void *)NAME_weights && NAME_newer(damaged + 1, 0, all) == 0 &&
           NAME_bind(SELF_damaged, 8) != 0 && NAME_bind(SELF_damaged, all - 1u) != 0 && NAME_bind(SELF_damaged, all) == 0 &&
           NAME_bind(SELF_NAME_weights, all) != 0;
}
"""
_MEMORY = """
extern uint8_t NAME_arena[], NAME_integrity[];
static int verified(void)
{
    int code;
    do
        code = NAME_verify_constants(100u);
    while (code == NAME_MORE);
    return code;
}
static int refuses_overwritten_memory(void)
{
    static const uint32_t canaries[] = {CANARIES};
    for (uint32_t place = 0; place < BYTES; place++) { /* the progress of the check */
        (void)NAME_verify_constants(7u);
        NAME_integrity[place] ^= 0xffu;
        (void)verified();
        (void)memset(NAME_integrity, 0, BYTES);
    }
    for (uint32_t index = 0; index < sizeof canaries / sizeof *canaries; index++) {
        if (verified() != 0 || RUN != 0)
            return 0;
        NAME_arena[canaries[index]] ^= 1u;
        if (RUN == 0 || verified() == 0)
            return 0;
        NAME_arena[canaries[index]] ^= 1u; /* a failed check stays */
        if (RUN == 0 || verified() == 0)
            return 0;
        (void)memset(NAME_integrity, 0, BYTES);
    }
    return verified() == 0 && RUN == 0;
}
"""


def damage_functions(program: Program, self: str, run: str) -> dict[str, str]:
    """Returns the texts of functions without parameters that return 1 if the model refuses the damage, by name. `self` is the
    argument for the instance, "" without instances; `run` is a call of N_run."""
    found, name = {}, program.name
    if program.options.replaces_weights:
        found["refuses_damage"] = _WEIGHTS.replace("SELF_", f"{self}, " if self else "")
    state = Integrity.of(program.options)
    if state and program.options.verifies_constants and program.options.has_canary and not self:
        canaries = ", ".join(f"{offset}u" for offset in canary_offsets(program.memory.arena))
        text = _MEMORY.replace("CANARIES", canaries).replace("BYTES", f"{state.size_bytes}u").replace("RUN", run)
        found["refuses_overwritten_memory"] = text.replace("NAME_MORE", f"{name.upper()}_MORE")
    return {function: text.replace("NAME", name) for function, text in found.items()}
