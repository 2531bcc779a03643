# SPDX-License-Identifier: MIT
"""What a main has around the calls of a model `net` whose memory is the firmware's (`--arena caller`), as C text."""

from __future__ import annotations


def memory_of_instance(has_state: bool) -> tuple[list[str], str]:
    """The lines that define `self`, its arena and state, and the statements that refuse a null arena and make the instance."""
    memory = [
        "static union { uint64_t wide[2]; uint8_t bytes[NET_ARENA_BYTES]; } arena __attribute__((aligned(16)));",
        "static net_instance self;",
        *(["static uint64_t state[NET_STATE_BYTES / 8 + 1];"] if has_state else []),
    ]
    kept = ", state" if has_state else ""
    return memory, f"CHECK(net_init(&self, 0{kept}) == 1); CHECK(net_init(&self, arena.bytes{kept}) == 0);"
