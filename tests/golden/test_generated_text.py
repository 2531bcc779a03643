# SPDX-License-Identifier: MIT
"""The whole generated text of tiny models: a change of what users read is seen in a review."""

from __future__ import annotations

import json

import pytest

from aidge_build.base.source_files import Sources
from aidge_build.base.version import VERSION
from aidge_build.build.emit import emit
from aidge_build.plan.options import Options
from tests.emitted import chain, copying, float_sum, in_two_memories

PROGRAMS = {
    "int8_chain": lambda: chain(),
    "int8_chain_in_arena": lambda: chain("packed", options=Options(io="arena", weights="incbin"), region="DTCM", alignment=16),
    "float_sum": lambda: float_sum(options=Options(arena="caller")),
    "steps_of_an_instance": lambda: chain(options=Options(arena="caller", max_step=1000, trace=True, dma="hooks")),
    "steps_in_two_memories": lambda: in_two_memories(Options(max_step=1000, dma="on", dma_line=32)),
    "replaced_weights": lambda: chain(options=Options(update="weights", record=2)),
    "copies_by_hooks": lambda: copying("hook"),
}
# The version, and what changes with it.
OF_TOOL = ("tool", "files", "options")


def _without_version(sources: Sources) -> dict[str, bytes]:
    """The files that a new version of the tool leaves as they are; the claim is in unit tests."""
    claim, tool = b"/* The claim:", f"aidge_build {VERSION}".encode()
    return {
        name: data.partition(claim)[0].replace(tool, b"aidge_build")
        for name, data in sources.files.items()
        if not name.endswith(".plan.json")
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_generated_text_is_as_it_was(golden, name):
    golden(name, _without_version(emit(PROGRAMS[name]())))


def test_the_manifests_are_as_they_were(golden):
    made = {name: emit(program()).manifest for name, program in PROGRAMS.items()}
    left = {name: {key: value for key, value in one.items() if key not in OF_TOOL} for name, one in made.items()}
    for one in left.values():
        one["claim"] = {key: value for key, value in one["claim"].items() if key not in OF_TOOL}
    golden("manifests", {f"{name}.json": f"{json.dumps(one, indent=1)}\n".encode() for name, one in left.items()})
