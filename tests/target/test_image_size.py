# SPDX-License-Identifier: MIT
"""The flash of whole firmware images: start-up, a main without printf, the layers and the constants."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf.image import read_image
from aidge_build.prove.elf.regions import region_use
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import needs_cross_compiler
from tests.shared import SHARED, int8_model, shared

BOARD = "mps2-an386"
LEAST_SAVED = 0.25  # of the image of the same network with TensorFlow Lite Micro and CMSIS-NN
NETWORKS = ("kws_dscnn", "sww_dscnn1d", *(("ic_resnet8", "vww_mobilenet025") if "AIDGE_STRESS" in os.environ else ()))


def flash_bytes(name: str, folder: Path, objective: str) -> int:
    """What the image takes of the board's flash."""
    made = aidge_build("compile", int8_model(name), "--name", "net", "--out", folder, "--board", BOARD, "--optimize", objective)
    assert made.exit_code == 0, made.stderr
    plan = json.loads((folder / "net.plan.json").read_text())
    sizes = [plan[side][0]["size_bytes"] for side in ("inputs", "outputs")]
    main = folder / "main.c"
    main.write_text(f"""#include "net.h"
#include "semihosting.h"
static int8_t input[{sizes[0]}], output[{sizes[1]}];
int main(void) {{ const int failed = net_run(input, output); semihosting_write_integer(output[0]); return failed; }}
""")
    board = load_board(BOARD)
    elf = build_program(
        board,
        [folder / "net.c", folder / "net_weights.c", main],
        folder / "net.elf",
        work_folder=folder / "objects",
        include_folders=[folder],
    )
    (use,), _ = region_use(read_image(elf), [board.region("code")])
    return use.used_bytes


@cache
def peers() -> dict[str, int]:
    found = json.loads(shared(SHARED / "bench" / "peers.json").read_text())
    return found["tflm_cmsis_nn"]["flash_bytes_total"]["cortex-m4"]


@needs_cross_compiler
@pytest.mark.parametrize("name", NETWORKS)
def test_a_balanced_image_is_a_quarter_smaller_than_the_peers(name, tmp_path):
    assert flash_bytes(name, tmp_path, "balanced") <= (1 - LEAST_SAVED) * peers()[name]


@needs_cross_compiler
def test_size_takes_the_least_flash_and_speed_the_most(tmp_path):
    sizes = [flash_bytes("sww_dscnn1d", tmp_path / objective, objective) for objective in ("size", "balanced", "speed")]
    assert sizes[0] < 0.93 * sizes[1] and sizes[1] < 0.97 * sizes[2]
