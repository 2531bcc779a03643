# SPDX-License-Identifier: MIT
"""Networks whose layers are computed row by row, as C on this machine under sanitizers, beside the same ones layer by layer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.cascade_nets import RowNetwork
from tests.command import aidge_build
from tests.sanitized import sanitized

COMPILER = shutil.which("cc")
SEEDS = range(300) if os.environ.get("AIDGE_STRESS") else range(2)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler for this machine")

MAIN = """
#include <stdio.h>
#include "net.h"
int main(void)
{{
    static float input[NET_INPUT_SIZE], output[NET_OUTPUT_SIZE];
    while (fread(input, sizeof input, 1, stdin) == 1) {{
        if (net_run({arguments}) != 0) return 1;
        fwrite(output, sizeof output, 1, stdout);
    }}
    return 0;
}}
"""


def run(model: Path, values: numpy.ndarray, folder: Path, *options: str) -> tuple[bytes, dict]:
    """The outputs of the generated program, and its plan."""
    result = aidge_build("compile", model, "--name", "net", "--out", folder, *options)
    assert result.exit_code == 0, result.stderr
    arguments = "arena, input, output" if "--arena=caller" in options else "input, output"
    arena = "static uint8_t arena[NET_ARENA_BYTES] __attribute__((aligned(16)));\n" if "--arena=caller" in options else ""
    text = MAIN.format(arguments=arguments).replace("int main", f"{arena}int main")
    (folder / "main.c").write_text(text)
    done = subprocess.run([sanitized(folder, "-O1")], input=values.tobytes(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout, json.loads((folder / "net.plan.json").read_text())


@pytest.mark.parametrize("seed", SEEDS)
def test_layers_by_rows_give_the_bits_of_whole_layers_in_fewer_bytes(seed, tmp_path):
    network = RowNetwork(seed, 4 + seed % 9, pooled=seed % 3 == 2)
    (tmp_path / "net.onnx").write_bytes(network.file())
    values = network.values(2)
    arena = "--arena=caller" if seed % 2 else "--arena=static"
    whole, plan = run(tmp_path / "net.onnx", values, tmp_path / "whole", arena)
    by_rows, smaller = run(tmp_path / "net.onnx", values, tmp_path / "rows", "--memory-model", "cascade", arena)
    assert by_rows == whole
    assert smaller["peak_bytes"] <= plan["peak_bytes"]
    assert ("net_cascade_1(" in (tmp_path / "rows" / "net.c").read_text()) == (smaller["peak_bytes"] < plan["peak_bytes"])
