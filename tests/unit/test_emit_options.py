# SPDX-License-Identifier: MIT
"""The code of one model with other options: what its parts say of each other. No compiler."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.emit.overlaps import overlap_checks
from aidge_build.build.emit.places import Places
from aidge_build.build.emit.ports import ports_of
from aidge_build.graph.dtype import DType
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.options import Options
from aidge_build.plan.place import Place
from aidge_build.plan.program import Program
from tests.compiled import request_of
from tests.emitted import chain, changed
from tests.models import model
from tests.row_models import image_classifier, image_filter, running_image
from tests.stateful import MODELS

DELAYS, WEIGHTS = MODELS["a delay line of three"], {"w": numpy.array([[1, 2, 3, 5]], numpy.float32)}


def program_of(data: bytes, options: Options, state: dict[str, str] | None = None) -> Program:
    return build_program(replace(request_of(data, "net.onnx", load_board("stm32f7")), options=options, state=state or {}))


def code_and_claim(program: Program) -> tuple[str, dict]:
    made = emit(program)
    return made.files["net.c"].decode(), made.manifest["claim"]


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(input="rows"),
        Options(record=2),
        Options(max_step=100_000),
        Options(update="weights", record=1, monitor="on"),
        Options(update="weights", max_step=100_000),
        Options(arena="caller", max_step=100_000),
        Options(arena="caller", update="weights"),
    ],
    ids=lambda options: f"{options.arena} {options.update} {options.input} {options.max_step} {options.record}",
)
def test_the_claim_names_all_arrays_that_the_code_keeps_between_calls_and_no_other(options):
    data, state = (image_filter(), {}) if options.input == "rows" else (running_image(), {"n": "s"})
    code, claim = code_and_claim(program_of(data, options, state))
    defined = re.findall(r"^(?!extern|typedef|#)\w[\w* ]*?\*?\b(net_\w+)(?:\[[^]]*\])?;$", code, re.MULTILINE)
    claimed = [*claim["arenas"], *claim["kept"], *([claim["state"]] if claim["state"] else [])]
    assert sorted(defined) == sorted(one["symbol"] for one in claimed)


@pytest.mark.parametrize("options", [{}, {"input": "rows"}, {"max_step": 100_000}], ids=str)
def test_the_header_says_when_an_inference_of_several_calls_refuses_weights_and_needs_its_arena(options):
    header = emit(program_of(image_filter(), Options(update="weights", arena="caller", **options))).files["net.h"].decode()
    text = " ".join(re.sub(r"^ *\*", "", header, flags=re.MULTILINE).split())
    assert f"older than the bound weights{', NET_ORDER during an inference' if options else ''}; then nothing changes." in text
    assert f"free for other use between {'inferences' if options else 'calls'};" in text


@pytest.mark.parametrize("arena", ["static", "caller"])
@pytest.mark.parametrize("line", [0, 32])
def test_the_claim_says_where_dma_may_touch_the_arena(line, arena):
    """The places of inputs and outputs, if they have lines of their own in an arena of the model."""
    options = Options(io="arena", dma="on" if line else "hooks", dma_line=line)
    _, claim = code_and_claim(program_of(image_filter(), replace(options, arena=arena)))
    assert (claim["dma"]["line_bytes"], claim["dma"]["hooks"]) == (line, ["net_before_input", "net_after_output"])
    _, called = code_and_claim(program_of(image_filter(), options))
    ports = [
        {"label": label, **{word: called["calls"][side][0][word] for word in ("symbol", "offset_bytes", "size_bytes")}}
        for label, side in (("input 0", "inputs"), ("output 0", "outputs"))
    ]
    assert claim["dma"]["ports"] == (ports if line and arena == "static" else [])


@pytest.mark.parametrize("update", ["none", "weights"])
def test_initial_values_of_states_are_constants_of_the_program_even_if_weights_can_be_replaced(update):
    model = replace(DELAYS, text=f"{DELAYS.text} z = Add(y, w)", outputs=DELAYS.outputs.replace("] y", "] z"), constants=WEIGHTS)
    program = program_of(model.file(), Options(update=update), model.pairs)
    arrays = arrays_of(program)
    code, _ = code_and_claim(program)
    assert emit(program).blob[:4] == (b"AIDW" if update == "weights" else b"")
    assert arrays.initial_state is not None and len(arrays.all) > 1
    used = arrays.all if update == "none" else (arrays.initial_state,)
    assert re.findall(r"^extern const \w+ (\w+)\[", code, re.MULTILINE) == [array.symbol for array in used]


@pytest.mark.parametrize("constants, count", [({}, 0), (WEIGHTS, 1)], ids=["none", "weights"])
def test_the_function_that_finds_bound_weights_exists_if_a_layer_reads_weights(constants, count):
    text = "z = Add(x, w)" if constants else "z = Neg(x)"
    data = model(text, inputs="float[1,4] x", outputs="float[1,4] z", constants=constants)
    code, _ = code_and_claim(program_of(data, Options(update="weights")))
    assert code.count("static const void *net_constant(") == count


@pytest.mark.parametrize("data", [image_classifier(), image_filter()], ids=["classifier", "filter"])
def test_steps_report_what_a_run_reports(data):
    """A step that is long enough for each layer: the same calls in the same order."""
    runs = [code_and_claim(program_of(data, Options(trace=True, max_step=step)))[0] for step in (0, 10_000_000)]
    reports = [re.findall(r"aidge_trace\((\d+, .*u)\);", code) for code in runs]
    assert reports[0] == reports[1] and len(reports[0]) > 1


def test_bytes_of_an_input_or_output_of_another_type_are_reached_through_void_and_no_input_is_written():
    program = chain(places={"x": Place("input"), "middle": Place("output", offset_bytes=2), "y": Place("output")})
    layer, (x, hidden) = program.layers[0], (program.layers[0].inputs[0], program.layers[0].outputs[0])
    ports = tuple(replace(port, tensor=port.tensor.with_(dtype=DType.int32)) for port in ports_of(program))
    places = Places(program, ports, arrays_of(program))
    assert places.pointer(x, layer, written=False) == "(const int8_t *)&((const uint8_t *)(const void *)input)[0]"
    assert places.pointer(hidden, layer, written=True) == "(int8_t *)&((uint8_t *)(void *)output)[2]"
    assert places.pointer(hidden, layer, written=False) == "(const int8_t *)&((uint8_t *)(void *)output)[2]"
    with pytest.raises(AidgeError, match="written into the firmware's input"):
        places.pointer(x, layer, written=True)
    wide = hidden.with_(dtype=DType.int16)
    assert Places(program, ports, arrays_of(program)).pointer(wide, layer, written=True).startswith("(int16_t *)(void *)&")


@pytest.mark.parametrize(
    "symbols, is_sound",
    [
        (("toy_first", "toy_second"), True),
        (("toy_" + 59 * "x", "toy_second"), True),
        (("toy_" + 60 * "x", "toy_second"), False),
        (("toy_first", "toy_First"), False),
        (("toy_first", "toy_run"), False),
        (("toy_first", "tay_second"), False),
        (("toy_first", "toy_a-b"), False),
        (("toy_first", "toy_\u00e9"), False),
        (("toy_first", "toy_a\n"), False),
    ],
)
def test_symbols_of_layers_are_names_of_the_model_that_differ_in_more_than_case(symbols, is_sound):
    program = chain()
    layers = tuple(replace(layer, symbol=symbol) for layer, symbol in zip(program.layers, symbols, strict=True))
    if is_sound:
        assert all(symbol in emit(changed(program, layers=layers)).files["toy.c"].decode() for symbol in symbols)
        return
    with pytest.raises(AidgeError, match="is taken or no C name"):
        emit(changed(program, layers=layers))


@pytest.mark.parametrize("alignment, is_sound", [(0, False), (2, False), (4, True), (12, False), (16, True)])
def test_an_alignment_of_the_arena_is_a_power_of_two_that_suits_the_plan(alignment, is_sound):
    if is_sound:
        assert f"#define TOY_ARENA_ALIGNMENT {alignment}\n" in emit(chain(alignment=alignment)).files["toy.h"].decode()
        return
    with pytest.raises(AidgeError, match="the arena's alignment is"):
        emit(chain(alignment=alignment))


@pytest.mark.requirement("EMIT")
def test_a_cascade_that_begins_inside_a_tensor_is_refused():
    program = program_of(image_filter(), Options(memory_model="cascade"))
    (cascade,) = program.schedule.cascades
    first, *others = cascade.steps
    later = replace(first, reads=tuple(rows and replace(rows, slot=rows.slot + 1) for rows in first.reads))
    wrong = replace(cascade, steps=(later, *others))
    assert json.loads(emit(program).files["net.plan.json"])
    with pytest.raises(AidgeError, match="a cascade begins inside a tensor"):
        emit(replace(program, schedule=replace(program.schedule, cascades=(wrong,))))


@pytest.mark.parametrize("room", [100, 200, 900, 5000])
def test_the_manifest_names_the_layers_with_constants_in_another_memory(room):
    made = emit(program_of(image_classifier(), Options(constants_in=(("DTCM", room),))))
    (entry,) = made.manifest["constants_in"]
    moved = [constant for constant in made.manifest["claim"]["weights"] if constant.get("region") == "DTCM"]
    assert (entry["region"], entry["room_bytes"]) == ("DTCM", room)
    assert 0 < entry["size_bytes"] == sum(constant["size_bytes"] for constant in moved) <= room
    numbers = [re.sub(r"\D*_(\d+)_\w*", r"\1", constant["symbol"]) for constant in moved]
    assert [name.rpartition("_")[2] for name in entry["layers"]] == numbers, "a constant has the number of its layer"


def test_the_manifest_says_how_an_inference_in_steps_is_cut():
    program = program_of(image_classifier(height=64, width=16), Options(max_step=100_000))
    made = emit(program)
    steps, claim = made.manifest["steps"], made.manifest["claim"]
    assert claim["steps"] == {"max_step": 100_000, "count": steps["count"]} and steps["max_step"] == 100_000
    assert f"#define NET_STEPS {steps['count']}\n" in made.files["net.h"].decode()
    assert [kept["size_bytes"] for kept in claim["kept"]] == [steps["progress_bytes"]]
    (layer,) = steps["cut_layers"]
    assert layer["bands"] == 1 + steps["count"] - len(program.layers) and layer["bands"] * layer["rows_of_a_band"] >= 28
    assert layer["name"] in [node.name for node in program.view.nodes]


@pytest.mark.parametrize("arena", ["static", "caller"])
def test_a_run_compares_the_arena_of_its_caller_with_each_input_and_output(arena):
    program = chain(options=Options(arena=arena))
    compared = [
        set(re.findall(r"\(uintptr_t\)(\w+)", check))
        for check in overlap_checks(program, ports_of(program), "arena" * (arena == "caller"))
    ]
    assert compared == ([{"arena", "input"}, {"arena", "output"}] if arena == "caller" else [])
