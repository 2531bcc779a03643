# SPDX-License-Identifier: MIT
"""Which constants are packed: weights of few bits, where flash shrinks and the arena has room for the expanded ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.options import Options
from aidge_build.plan.packed_constants import expansion_instructions
from aidge_build.plan.prediction.predict import predict
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.match import Target
from tests.command import aidge_build
from tests.compiled import request_of
from tests.loaded import built_in
from tests.packed_networks import packed_network
from tests.row_networks import chain
from tests.small_model import small_model

XIP = """extends = "mps2-an386"
constants = "XIP"
[regions.XIP]
origin = 0x90000000
length = "1M"
kind = "flash"
access_cost = 8
"""


def program(model: bytes, folder, *, packs: bool = True, board: str = "", **options) -> Program:
    """The model for a board whose constants are in a slow memory, with the kernels of `ref`."""
    (folder / "xip.toml").write_text(XIP + board)
    loaded = replace(load_board("xip", [folder]), libs=("ref",))
    request = request_of(model, "net.onnx", loaded)
    return build_program(replace(request, options=Options(**options), target=Target(loaded.features, packs_weights=packs)))


def packed_layers(made: Program) -> list[str]:
    return [layer.node.name for layer in made.layers if layer.copied and layer.copied.copy.is_packed]


def test_flash_shrinks_and_the_arena_grows_by_no_more_than_the_peak(tmp_path):
    plain, made = program(packed_network(), tmp_path, packs=False), program(packed_network(), tmp_path)
    saved = sum(layer.copied.copy.saved for layer in made.layers if layer.copied)
    assert len(packed_layers(made)) == 5 and arrays_of(plain).size_bytes - arrays_of(made).size_bytes == saved > 4000
    assert made.memory.arena.peak_bytes <= plain.memory.arena.peak_bytes + plain.memory.peak.peak_bytes
    assert any(f"{saved:,} B less flash" in notice for notice in made.notices)


def test_tables_pack_weights_with_few_values_too(tmp_path):
    names = packed_layers(program(packed_network(), tmp_path, pack_weights="tables"))
    assert len(names) == 6 and names[-1].startswith("Gemm")


@pytest.mark.parametrize("model", [small_model(inputs=64, hidden=40), chain()])
def test_models_without_weights_of_few_bits_stay_as_they_are(model, tmp_path):
    assert emit(program(model, tmp_path)).files == emit(program(model, tmp_path, packs=False)).files


def test_arrays_that_would_take_too_much_ram_stay_bytes_and_a_notice_says_so(tmp_path):
    plain = program(packed_network(), tmp_path, packs=False)
    budget = plain.memory.peak.peak_bytes + 300
    made = program(packed_network(), tmp_path, ram_budget=budget)
    assert 0 < len(packed_layers(made)) < 5 and made.memory.peak.peak_bytes <= budget
    assert any("more would need too much RAM" in notice for notice in made.notices)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"max_step": 400_000}, "a step would end while they are expanded"), ({"memory_model": "cascade"}, "")],
)
def test_layers_in_steps_or_by_rows_read_bytes(options, reason, tmp_path):
    made = program(packed_network(), tmp_path, **options)
    inside = {name for cascade in made.schedule.cascades for name in cascade.nodes}
    assert not inside & set(packed_layers(made))
    assert not reason or (not packed_layers(made) and any(reason in notice for notice in made.notices))


def test_other_layers_still_have_their_constants_copied(tmp_path):
    made = program(packed_network(), tmp_path, copy_constants="hook")
    copied = [layer.node.name for layer in made.layers if layer.copied and not layer.copied.copy.is_packed]
    assert len(packed_layers(made)) == 5 and not set(copied) & set(packed_layers(made))
    assert [copy["layer"] for copy in emit(made).manifest["copied_constants"]] == copied


def test_explain_prints_what_each_packed_layer_saves_and_costs(tmp_path):
    (tmp_path / "net.onnx").write_bytes(packed_network())
    plain, packed = (
        aidge_build("explain", tmp_path / "net.onnx", "--lib", "ref", "--pack-weights", choice, "--json").json["nodes"]
        for choice in ("off", "on")
    )
    layers = [(one, other) for one, other in zip(plain, packed, strict=True) if other["packed"]]
    assert len(layers) == 5 and not any(entry["packed"] for entry in plain)
    for one, other in layers:
        assert one["constants_bytes"] - other["constants_bytes"] == other["packed"]["saved_bytes"] > 0
    lines = aidge_build("explain", tmp_path / "net.onnx", "--lib", "ref").stdout.splitlines()
    assert sum("4-bit weights packed: " in line for line in lines) >= 2


def test_a_prediction_counts_the_instructions_that_expand(tmp_path):
    made = program(packed_network(), tmp_path)
    costs = [expansion_instructions(layer, ()) for layer in made.layers]
    plain = replace(made, layers=tuple(replace(layer, copied=None) for layer in made.layers))
    target = Target(load_board("mps2-an386", []).features)
    libraries = built_in("ref", "kit")
    with_expansion, without = (predict(one, libraries, target).layers for one in (made, plain))
    found = [
        round(one.instructions - other.instructions)
        for one, other in zip(with_expansion, without)
        if other.instructions is not None
    ]
    assert sum(map(bool, costs)) == 5 and set(found) <= set(costs) and any(found)
