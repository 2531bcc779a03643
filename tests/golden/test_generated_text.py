# SPDX-License-Identifier: MIT
"""The whole generated text of tiny models: a change of what users read is seen in a review."""

from __future__ import annotations

import pytest

from aidge_build.base.source_files import Sources
from aidge_build.base.version import VERSION
from aidge_build.build.emit import emit
from aidge_build.plan.options import Options
from tests.emitted import chain, float_sum

PROGRAMS = {
    "int8_chain": lambda: chain(),
    "int8_chain_in_arena": lambda: chain("packed", options=Options(io="arena", weights="incbin"), region="DTCM", alignment=16),
    "float_sum": lambda: float_sum(options=Options(arena="caller")),
}


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
