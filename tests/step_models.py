# SPDX-License-Identifier: MIT
"""A program that runs a model in steps, leaves inferences at every step, and compares with net_run."""

from __future__ import annotations

from tests.instances import memory_of_instance
from tests.row_models import replaced

MAIN = """
#include "net.h"
#include <string.h>
#define CHECK(condition) do { if (!(condition)) return __LINE__ > 255 ? 255 : __LINE__; } while (0)
static TYPE input[NET_INPUT_SIZE];
static TYPE wanted[NET_OUTPUT_SIZE], got[NET_OUTPUT_SIZE];
MEMORY
static uint32_t seed = 1;
static uint32_t drawn(uint32_t below) { seed = seed * 1664525u + 1013904223u; return (seed >> 8) % below; }
static int inference(int32_t left_after)
{
    int32_t steps = 0;
    int code = NET_MORE;
    CHECK(net_step(SELF) == NET_ORDER && net_end(SELF) == NET_ORDER);
    GIVE
    BEGIN
    while (code == NET_MORE && steps != left_after) {
        if (drawn(4) == 0)
            CHECK(RUN == NET_ORDER); /* what is refused changes nothing */
        if (left_after < 0 && drawn(20) == 0) {
            code = net_end(SELF);
            break;
        }
        code = net_step(SELF);
        steps++;
        CHECK(code == (steps == NET_STEPS ? NET_OK : NET_MORE));
    }
    if (code == NET_MORE) {
        net_cancel(SELF);
        CHECK(net_step(SELF) == NET_ORDER);
        return 0;
    }
    CHECK(code == NET_OK && net_step(SELF) == NET_ORDER);
    TAKE
    return 0;
}
int main(void)
{
    int32_t turn, left;
    int code;
    INIT
    CHECK(NET_OK == 0 && NET_POINTER == 1 && NET_MORE == 2 && NET_ORDER == 3 && NET_MAX_STEP_INSTRUCTIONS == LIMIT);
    for (turn = 0; turn < TURNS; turn++) {
        uint32_t index;
        for (index = 0; index < NET_INPUT_SIZE; index++)
            input[index] = (TYPE)((int32_t)drawn(255) - 127);
        RESET
        GIVE
        CHECK(RUN == NET_OK); /* with a state: the second value follows from the first */
        GIVE
        CHECK(RUN == NET_OK);
        TAKE
        memcpy(wanted, got, sizeof got);
        RESET
        GIVE
        CHECK(RUN == NET_OK);
        left = turn % NET_STEPS;
        if ((code = inference(left)) != 0)
            return code;
        memset(got, 2, sizeof got);
        if ((code = inference(-1)) != 0)
            return code;
        CHECK(memcmp(got, wanted, sizeof got) == 0);
    }
    return 0;
}
"""


def program(
    *,
    type_name: str,
    max_step: int,
    io: str = "caller",
    arena: str = "static",
    has_state: bool = False,
    turns: int = 40,
) -> str:
    """The main of a model `net` that compares steps with net_run, and what is refused or left in between."""
    instance = arena == "caller"
    self = "&self" if instance else ""
    named = ["input", "got"] if io == "caller" else []
    given = [word for word in (self, *named) if word]
    begin = f"CHECK(net_begin({', '.join(given)}) == NET_OK); CHECK(net_begin({', '.join(given)}) == NET_ORDER);"
    if named:
        begin = f"CHECK(net_begin({', '.join([*([self] if self else []), 'input', '0'])}) == NET_POINTER); {begin}"
    memory, init = memory_of_instance(has_state) if instance else ([], "")
    place = "(arena.bytes)" if instance else ""
    words = {
        "TYPE": type_name,
        "MEMORY": "\n".join(memory),
        "SELF": self,
        "BEGIN": begin,
        "RUN": f"net_run({', '.join(given)})",
        "GIVE": f"memcpy(NET_INPUT{place}, input, sizeof input);" if io == "arena" else "",
        "TAKE": f"memcpy(got, NET_OUTPUT{place}, sizeof got);" if io == "arena" else "",
        "INIT": init,
        "RESET": f"net_reset({self});" if has_state else "",
        "TURNS": str(turns),
        "LIMIT": str(max_step),
    }
    text = MAIN
    for word, value in words.items():
        text = replaced(text, word, value)
    return text
