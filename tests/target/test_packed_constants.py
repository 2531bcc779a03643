# SPDX-License-Identifier: MIT
"""Weights of few bits are packed in flash and expanded before their layer: the values stay, flash shrinks, and the check proves
the packed arrays like all others."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.build.emit.expansions import expansion
from aidge_build.build.emit.template import render_file
from aidge_build.plan.packed_words import KINDS, TABLE, packed
from tests.command import Result, aidge_build
from tests.packed_networks import packed_array, packed_network, packed_vectors
from tests.programs import needs_cross_compiler, needs_qemu, needs_riscv
from tests.sanitized import SANITIZED, SANITIZED_FLAGS, WARNINGS

STRESS = "AIDGE_STRESS" in os.environ
ON_ARM = [needs_cross_compiler, needs_qemu]
BOARDS = [
    pytest.param("mps3-an547", marks=ON_ARM),
    pytest.param("rp2040", marks=ON_ARM),
    pytest.param("mps2-an386", marks=ON_ARM),
    pytest.param("qemu_riscv32", marks=needs_riscv),
]


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("network")
    (folder / "net.onnx").write_bytes(packed_network())
    packed_vectors(folder / "io.npz")
    return folder / "net.onnx"


def verified(network: Path, folder: Path, *words: object) -> tuple[Result, dict]:
    """`verify`, which compares the values with numpy, and the plan."""
    given = ("--io-data", network.with_name("io.npz"), "--keep", folder)
    result = aidge_build("verify", network, *given, *words)
    assert result.exit_code == 0, result
    return result, json.loads((folder / "model.plan.json").read_text())


@pytest.mark.parametrize("board", BOARDS if STRESS else BOARDS[:2])
def test_layers_of_every_kind_read_expanded_weights(board, network, tmp_path):
    _, plan = verified(network, tmp_path, "--board", board)
    packed_layers = {layer["layer"]: layer for layer in plan["packed_constants"]}
    assert len(packed_layers) >= 3 and any(layer.startswith("GRU") for layer in packed_layers), packed_layers
    checked = aidge_build("check", tmp_path / "model.elf", "--board", board)
    assert checked.exit_code == 0, checked


@pytest.mark.parametrize("words", [("--arena", "caller", "--io", "arena"), (), ("--weights", "incbin")][: 3 if STRESS else 1])
def test_no_byte_outside_of_an_array_is_touched(words, network, tmp_path):
    _, plan = verified(network, tmp_path, "--lib", "ref", *words, *SANITIZED_FLAGS)
    assert len(plan["packed_constants"]) >= 5
    for layer in plan["packed_constants"]:
        assert layer["flash_bytes"] < 0.7 * layer["size_bytes"], layer


MAIN = """
int main(void)
{
    static _Alignas(8) uint8_t room[SIZE + 8];
    const unsigned char end = (room[SIZE] = 77);
    net_expand_KIND(room, list, sizeof list / sizeof list[0]);
    return memcmp(room, wanted, SIZE) != 0 || room[SIZE] != end;
}
"""


@pytest.mark.parametrize("kind", [*KINDS, TABLE])
def test_the_code_of_each_kind_gives_the_array(kind, tmp_path):
    data = packed_array([(kind, 300, 3), ("8", 20, 2), (kind, 60, 40)], 1)
    data += bytes(-len(data) % 4) + (bytes(range(64, 80)) * 9 + bytes(range(16, 24)) * 12 if kind == TABLE else b"")
    words = numpy.frombuffer(packed(data, kind).words, "<u4")
    assert 4 * len(words) < 0.8 * len(data)
    text = render_file("model/expand.c", name="net", expansions=[expansion(kind)])
    head = ["#include <stdint.h>", "#include <string.h>", "#define AIDGE_FUNCTION"]
    head += [f"static const uint32_t list[] = {{{', '.join(f'{word}u' for word in words)}}};"]
    head += [f"static const uint8_t wanted[] = {{{', '.join(map(str, data))}}};"]
    main = MAIN.replace("SIZE", str(len(data))).replace("KIND", kind)
    (tmp_path / "main.c").write_text("\n".join([*head, text, main]))
    program, warnings = tmp_path / "app", [flag for flag in WARNINGS if flag not in ("-std=c99", "-pedantic")]
    subprocess.run(["cc", "-std=c11", *warnings, *SANITIZED, tmp_path / "main.c", "-o", program], check=True)
    assert subprocess.run([program], check=False).returncode == 0
