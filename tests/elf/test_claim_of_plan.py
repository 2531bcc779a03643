# SPDX-License-Identifier: MIT
"""A program cannot speak for itself: with a plan, all of its claim is compared with the plan's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.elf.fault import check, memory_findings
from tests.elf.own_script import REGIONS, STORED, claim, link, program
from tests.programs import CLAIM, SHA256, constant, needs_cross_compiler

pytestmark = needs_cross_compiler
ZEROS = constant(content=bytes(len(STORED)), alignment=4)


@pytest.fixture(scope="module")
def elf(tmp_path_factory) -> Path:
    return link(tmp_path_factory.mktemp("program"), program())


def found(elf: Path, folder: Path, **changes) -> list[tuple[str, str]]:
    plan = folder / "kws.plan.json"
    said = {**claim(), **changes}
    plan.write_text(json.dumps({"model": "kws", "model_sha256": SHA256, "arena_bytes": 512, "claim": said}))
    return [(finding["code"], finding["text"]) for finding in memory_findings(check(elf, *REGIONS, "--plan", plan))]


def test_a_claim_that_is_the_plan_s_is_no_finding(elf, tmp_path):
    assert found(elf, tmp_path) == []


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"weights": [ZEROS]}, "constants"),
        ({"weights": [], "weights_bytes": 0}, "constants, weights bytes"),
        ({"arenas": [{**claim()["arenas"][0], "alignment": 32}]}, "arenas"),
        ({"arenas": CLAIM["arenas"], "cpu": ""}, "arenas, cpu"),
        ({"functions": ["kws_run", "kws_begin"]}, "functions"),
        ({"code": "0123456789ab"}, "code"),
        ({"made_with": ["--dma=on"]}, "made with no option instead of --dma=on"),
    ],
)
def test_a_claim_that_says_something_else_than_the_plan_is_found(elf, tmp_path, changes, named):
    text = f"what model kws claims in the program is not what kws.plan.json says of it: {named}"
    assert found(elf, tmp_path, **changes) == [("MEM04", text)]
