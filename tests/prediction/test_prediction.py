# SPDX-License-Identifier: MIT
"""Instructions predicted before anything is compiled: against measured layers, against the recorded figures of models, and what
an estimate owes to whoever believes it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.call import Call, Literal, Struct
from aidge_build.contract.library import Library
from aidge_build.plan.prediction.described import Described
from aidge_build.plan.prediction.networks import Work
from aidge_build.plan.prediction.predict import predict
from aidge_build.plan.prediction.quantities import family_of, quantities, value_of, words_of
from aidge_build.plan.prediction.table import OF_AN_UNKNOWN_WORD, costs_for, estimate
from tests.compiled import request_of
from tests.shared import MODELS, int8_model
from tools.prediction.cycles import LayerCycles, Network
from tools.prediction.fit import Row, vocabularies
from tools.prediction.learn import errors_of, learned
from tools.prediction.tables import merged

HERE = Path(__file__).parent
KEPT = sorted(HERE.glob("*.json"))
RECORD = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.json"
OF_A_MODEL, OF_MOST_LAYERS = 0.05, 0.15
JUDGED = ("mps2-an386", "mps3-an547")

TABLE = """
schema = 1
features = ["dsp"]
optimize = ["balanced"]

[[cost]]
function = "conv/mine_conv"
variant = "packed"
words = ["packed"]
layers = 5
error = 0.01
terms = { "macs" = 0.5, "one" = 100 }
least = { "macs" = 1000 }
most = { "macs" = 8000 }

[[cost]]
function = "conv/mine_conv"
words = ["packed", "wide"]
layers = 9
error = 0.1
terms = { "macs" = 1 }
least = { "macs" = 1000 }
most = { "macs" = 8000 }
"""
CALL = Described(
    "mine",
    "conv",
    "Conv2D",
    "mine_conv_8x8_packed",
    ("int8", "int8", "int8"),
    ((1, 8, 5, 5),),
    ((1, 10, 5, 5),),
    2000,
    {"window.kernel0": 1, "window.kernel1": 1},
    {"rows": 5},
    {"stream": 80},
    {"block": "2 pixels x 4 channels", "epilogue": "integer in 1 of 4 groups, float in the others"},
    {"turns": 7},
)


def library(text: str = TABLE) -> Library:
    return Library("mine", "c", "", {"predicted/any.toml": text.encode()}, (), ())


def costs(text: str = TABLE, features=("dsp",), optimize: str = "balanced"):
    return costs_for(library(text), features, optimize)


@cache
def shipped(name: str, features: tuple[str, ...]):
    found, _ = load_libraries([name], find_libraries([]))
    return costs_for(next(one for one in found if one.name == name), features, "balanced")


def kept_layers(path: Path):
    data = json.loads(path.read_text())
    for layer in data["layers"]:
        count = layer.pop("instructions")
        yield Described.from_json(layer), count, tuple(data["features"])


def test_there_are_measured_layers_of_several_cores():
    assert len(KEPT) >= 2
    assert all(len(list(kept_layers(path))) >= 30 for path in KEPT)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_measured_layers_of_networks_that_were_not_fitted_lie_inside_of_the_stated_errors(path):
    inside = known = 0
    for described, count, features in kept_layers(path):
        found = estimate(shipped(described.library, features), described)
        if found is not None:
            known += 1
            inside += abs(found.instructions / count - 1) <= max(found.error, 2 / count)
    assert known >= 0.8 * len(list(kept_layers(path)))
    assert inside >= 0.8 * known, f"{inside} of {known}"


@cache
def compiled(name: str, board: str):
    path = int8_model(name)
    request = request_of(path.read_bytes(), path.name, load_board(board))
    return build_program(request), request


@pytest.mark.parametrize("board", JUDGED)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_was_not_fitted_is_predicted_within_five_percent_of_what_was_recorded(name, board):
    program, request = compiled(name, board)
    found = predict(program, request.libraries, request.target)
    measured = next(
        one["instructions"]
        for one in json.loads(RECORD.read_text())["results"]
        if (one["model"], one["data"], one["board"]) == (name, "int8", board)
    )
    assert abs(found.instructions / measured - 1) <= OF_A_MODEL, f"{found} against {measured:,}"
    assert abs(found.instructions / measured - 1) <= found.error


def test_the_own_table_of_a_library_is_read_from_its_folder():
    found = estimate(costs(), CALL)
    assert (found.instructions, found.error, found.reason) == (0.5 * 2000 + 100, 0.01, "")


def test_a_variant_without_numbers_of_its_own_gets_those_of_the_whole_function():
    found = estimate(costs(), replace(CALL, function="mine_conv_8x8_wide"))
    assert (found.instructions, found.error) == (2000, 0.1)


def test_a_variant_that_nobody_measured_says_so_and_has_a_wide_error():
    found = estimate(costs(), replace(CALL, function="mine_conv_8x8_sparse"))
    assert found.error == OF_AN_UNKNOWN_WORD
    assert "'sparse'" in found.reason


@pytest.mark.parametrize(("macs", "factor"), [(8000, 1), (16000, 2), (1000, 1), (500, 2), (0, 1001)])
def test_the_error_grows_outside_of_what_was_measured(macs, factor):
    found = estimate(costs(), replace(CALL, macs=macs))
    assert found.error == pytest.approx(0.01 * factor)
    assert ("macs" in found.reason) == (factor > 1)


def test_a_size_that_was_always_zero_is_inside_where_it_is_zero():
    zero = costs(TABLE.replace('least = { "macs" = 1000 }', 'least = { "macs" = 0 }').replace("8000", "0"))
    for macs, factor in ((0, 1), (3, 4)):
        assert estimate(zero, replace(CALL, macs=macs)).error == pytest.approx(0.01 * factor)


def test_another_function_another_core_and_another_objective_are_not_known():
    assert estimate(costs(), replace(CALL, function="mine_other_8")) is None
    assert estimate(costs(), replace(CALL, kernel="other")) is None
    assert estimate(costs(features=("dsp", "fpu")), CALL) is None
    assert estimate(costs(optimize="size"), CALL) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema = 1", "schema = 2"),
        ("layers = 5", 'layers = "5"'),
        ('"one" = 100', '"one" = -100'),
        ('"one" = 100', '"one" = inf'),
        ('"one" = 100', '"one" = true'),
        ("error = 0.01", "error = nan"),
        ('terms = { "macs" = 1 }', "terms = {}"),
        ("words = ", "word = "),
    ],
)
def test_a_table_that_is_no_such_table_is_refused_in_one_line(old, new):
    assert old in TABLE
    with pytest.raises(AidgeError) as refused:
        costs(TABLE.replace(old, new, 1))
    assert refused.value.code == "LIBRARY"
    assert refused.value.hint


def test_what_the_name_of_a_function_says_up_to_its_type_or_first_number_is_its_family():
    assert family_of(CALL) == "conv/mine_conv"
    assert words_of(CALL) == {"packed"}
    assert family_of(replace(CALL, function="mine_mean_int8_turn_rest")) == "conv/mine_mean_int8"
    assert words_of(replace(CALL, function="mine_mean_int8_turn_rest")) == {"turn", "rest"}
    assert family_of(replace(CALL, function="mine_copy")) == "conv/mine_copy"
    assert words_of(replace(CALL, function="mine_copy")) == frozenset()


def test_the_quantities_of_a_call_are_its_sizes_arguments_work_and_words():
    found = quantities(CALL)
    expected = {
        "one": 1,
        "elements": 250,
        "inputs": 200,
        "positions": 25,
        "channels": 10,
        "lines": 5,
        "width": 5,
        "depth": 8,
        "terms": 8,
        "macs": 2000,
        "constants": 80,
        "groups": 3,
        "blocks": 12,
        "rest": 1,
        "runs": 13,
        "line_blocks": 10,
        "line_rest": 5,
        "line_runs": 15,
        "float_share": 0.75,
        "channels_by_4": 3,
        "of_rows": 5,
        "work_turns": 7,
        "is_packed": 1,
    }
    assert {name: found[name] for name in expected} == expected
    flat = quantities(replace(CALL, operator="Add", macs=0, inputs=((3, 7),), outputs=((3, 7),)))
    assert (flat["depth"], flat["channels"], flat["positions"]) == (7, 7, 3)
    assert value_of("blocks*groups*is_packed", found) == 36
    assert value_of("blocks*is_wide", found) == 0


def test_the_arguments_of_a_call_are_the_integers_of_its_structs_and_its_literals():
    shape = Struct("mine_shape", {"rows": 5, "is_padded": True, "sides": (2, 3), "table": tuple(range(9)), "scale": 0.5})
    kernel, node = SimpleNamespace(library="mine", name="conv"), SimpleNamespace(type="Conv2D")
    view = SimpleNamespace(inputs=(), outputs=(), operator=node, multiply_accumulates=0)
    call = Call("mine_conv", (), (Literal(7), shape, Literal(-1)))
    arguments = {"literal0": 7, "rows": 5, "is_padded": 1, "sides0": 2, "sides1": 3, "literal1": -1}
    assert Described.of(view, kernel, call).arguments == arguments


def test_what_is_described_survives_a_file():
    assert Described.from_json(json.loads(json.dumps(CALL.as_json()))) == CALL


def test_estimates_never_shrink_with_a_layer():
    """No term is negative, so that a larger layer never costs less."""
    for path in KEPT:
        for described, _, features in kept_layers(path):
            for several in shipped(described.library, features).values():
                assert all(factor > 0 for cost in several for factor in cost.terms.values())


@pytest.fixture
def toycar():
    return compiled("ad_toycar", "mps2-an386")


def test_the_layers_of_a_program_add_up(toycar):
    program, request = toycar
    whole = predict(program, request.libraries, request.target)
    halves = [replace(program, layers=program.layers[:4]), replace(program, layers=program.layers[4:])]
    parts = [predict(half, request.libraries, request.target) for half in halves]
    assert sum(part.instructions for part in parts) - whole.instructions in (9, 10, 11)  # what stands around the layers
    assert sum(layer.instructions for layer in whole.layers) == pytest.approx(whole.instructions - 10, abs=1)
    assert str(whole).startswith(f"{whole.instructions:,} instructions ± ")


def test_a_program_of_kernels_without_tables_is_not_known_and_names_them(toycar):
    program, request = toycar
    bare = [replace(one, files={}) for one in request.libraries]
    found = predict(program, bare, request.target)
    assert found.instructions is None
    assert len(found.unknown) == len(program.layers)
    assert str(found).startswith("not known: there are no measurements of cortexm ")


def test_a_small_layer_that_nobody_measured_widens_the_error_by_half_of_what_it_takes_at_most(toycar):
    program, request = toycar
    whole = predict(program, request.libraries, request.target)
    rare = {layer.kernel.library for layer in program.layers if layer.kernel.library != "cortexm"}
    others = [replace(one, files={}) if one.name in rare else one for one in request.libraries]
    found = predict(program, others, request.target)
    assert (found.unknown == ()) == (not rare)
    assert found.error >= whole.error


def test_the_works_of_a_program_are_its_layers_and_one_for_all_other_instructions(toycar):
    program, request = toycar
    found = predict(program, request.libraries, request.target)
    *layers, rest = found.works
    assert [work.function.split("/")[0] for work in layers] == [layer.kernel.name for layer in program.layers]
    assert (rest.function, rest.instructions) == ("", pytest.approx(10, abs=1))
    first = next(work for work in layers if work.terms)
    assert (first.calls, first.terms) == (1, 640) and first.constants > 640 / 4 * 128
    bare = [replace(one, files={}) if one.name == "cortexm" else one for one in request.libraries]
    assert all("aidge_cortexm" not in work.function for work in predict(program, bare, request.target).works)


def test_what_is_learned_of_networks_tells_how_far_it_is_from_a_network_that_was_left_out():
    place = ("core", "flash")

    def network(name, share, long=0.0):
        sizes = ((1000, 1, 64, 8), (4000, 2, 99, 200), (500, 1, 8, 90), (700, 3, 500, 24), (9000, 1, 20, 300), (200, 1, 90, 4))
        works = [Work("conv/f", *size) for size in sizes]
        cycles = [share * work.instructions for work in works]
        stalls = [0.25 * one + 30 * work.calls + long * one * (work.terms > 48) for one, work in zip(cycles, works)]
        layers = [
            LayerCycles(*each, {}) for each in zip(works, ({"core": one} for one in cycles), ({place: one} for one in stalls))
        ]
        return Network(name, layers, works)

    alike = [network(f"{name}_int8", 1.5, 1.0) for name in "abc"]
    known = learned(alike, place)
    assert known.core["conv/f"] == pytest.approx(1.5) and known.uncached is None
    found = known.stalls["conv/f"]
    assert (found.cycle, found.call, found.long) == pytest.approx((0.25, 30, 1.0)) and 8 <= found.beyond <= 48
    assert max(map(abs, errors_of(alike, place, {"a_int8"}).values())) < 1e-6
    other = [*alike, network("d_int8", 1.8, 1.0), network("d_float", 1.8, 1.0)]
    errors = errors_of(other, place, {"a_int8", "d_int8"})
    assert errors["d_int8"] == pytest.approx(1.5 / 1.8 - 1, abs=0.02) and abs(errors["a_int8"]) > 0.01
    assert "d_float" not in errors


def test_a_table_keeps_its_numbers_where_other_functions_are_measured_anew():
    old = TABLE.strip() + "\n"
    other = old.replace("conv/mine_conv", "conv/mine_other").replace('"one" = 100', '"one" = 7')
    both = merged(old, other)
    assert both == merged(both, other)
    assert costs(both)["conv/mine_conv"] == costs(old)["conv/mine_conv"]
    assert costs(both)["conv/mine_other"][0].terms["one"] == 7
    assert merged(old, old.replace('"one" = 100', '"one" = 7')).count("[[cost]]") == 2


def test_the_loops_that_a_kernel_names_are_all_that_its_numbers_depend_on():
    described = replace(CALL, work={name: 1 for name in ("a", "b", "c", "d", "e")})
    rows = [Row(described, 100, "a"), Row(replace(described, function="mine_conv_8x8_wide"), 100, "b")]
    (terms,) = vocabularies(rows, [quantities(row.described) for row in rows])
    assert {"work_a", "work_e", "is_wide*one"} <= set(terms)
    assert not any("blocks" in term or "groups" in term for term in terms)
