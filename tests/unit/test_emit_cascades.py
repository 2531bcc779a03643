# SPDX-License-Identifier: MIT
"""The table of a cascade's steps as the generated loop follows it: which layer, at which rows, in which order. No compiler."""

from __future__ import annotations

import re

import pytest

from aidge_build.build.emit import emit
from aidge_build.build.emit.cascades import CascadeText, cascades_of, run_steps
from aidge_build.build.emit.layers import layers_of
from aidge_build.build.emit.places import Places
from aidge_build.build.emit.ports import ports_of
from aidge_build.plan.cascade.row_layer import row_bytes
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.options import Options
from aidge_build.plan.program import Program
from tests.row_models import image_classifier, image_filter
from tests.unit.test_emit_options import program_of

PROGRAMS = {
    "replaced weights": (image_classifier(64, 32), Options(memory_model="cascade", io="arena", update="weights", trace=True)),
    "rows leave": (image_filter(40), Options(memory_model="cascade", output="rows")),
    "rows come and leave": (image_filter(40), Options(input="rows", output="rows")),
    "steps": (image_classifier(64, 16), Options(max_step=20_000)),
}


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request) -> Program:
    data, options = PROGRAMS[request.param]
    return program_of(data, options)


def texts_of(program: Program):
    ports, arrays = ports_of(program), arrays_of(program)
    layers = layers_of(program, Places(program, ports, arrays), arrays)
    return layers, cascades_of(program, ports, layers)


def steps_of(text: CascadeText) -> list[tuple[str, ...]]:
    """What each step does, in order."""
    return [text.cases[int(number)] for line in text.table for number in re.findall(r"\d+", line)]


def address(argument: str, cursors: dict[str, int]) -> tuple[str, int]:
    """The array that an argument points into, and the bytes from its start."""
    name, index = re.search(r"&?\(?\(?(?:\([^)]*\))*(\w+)\)?(?:\[(.*)\])?$", argument).groups()
    terms = (index or "0").split(" + ")
    return name, sum(cursors[term] if "at_" in term else int(term) for term in terms)


def arguments(call: str) -> list[str]:
    return re.split(r", (?![^()]*\))", call.split("(", 1)[1].removesuffix(");"))


def test_each_step_calls_its_layer_with_its_rows(program):
    """Cursors go on from band to band."""
    _, cascades = texts_of(program)
    symbols = {layer.node.name: layer for layer in program.layers}
    followed = 0
    for cascade, text in zip(program.schedule.cascades, cascades, strict=True):
        cursors = dict.fromkeys(text.cursors, 0)
        assert text.count == len(cascade.steps) == len(steps_of(text)) and len(set(text.cases)) == len(text.cases)
        assert text.table_type == "uint8_t"
        for step, lines in zip(cascade.steps, steps_of(text), strict=True):
            calls = [line for line in lines if line.startswith(symbols[step.node].symbol)] if step.node in symbols else []
            for call in calls:
                layer, given = symbols[step.node], arguments(call)
                kinds = len(layer.calls) > 1
                assert not kinds or given.pop() == str(layer.bands.number_of[step.first, step.last])
                rows = [*(step.reads[position] for position in sorted(layer.bands.rows_read)), step.writes]
                for one, argument in zip(rows, given[-len(rows) :], strict=True):
                    tensor, place = program.view.tensor(one.tensor), program.memory.places[one.tensor]
                    width = row_bytes(tensor)
                    name, at = address(argument, cursors)
                    start = place.offset_bytes if name == "arena" else 0
                    assert at == start + one.slot * width, (step, argument)
                    assert name == "arena" or place.kind in ("input", "output")
            assert len(calls) == (not step.arrives and not step.departs)
            followed += len(calls)
            for line in lines:
                if found := re.fullmatch(r"(?:at->)?(\w+) \+= (\d+)u;", line):
                    key = next(one for one in cursors if one.endswith(found[1]))
                    cursors[key] += int(found[2])
            shifts = [line for line in lines if line.startswith("net_shift(")]
            assert len(shifts) == len(step.shifts)
    assert followed > 5


def test_the_reports_of_the_bands_of_a_layer_are_its_whole_output(program):
    _, cascades = texts_of(program)
    sizes: dict[int, int] = {}
    for text in cascades:
        for line in (line for lines in steps_of(text) for line in lines if line.startswith("aidge_trace(")):
            index, size = re.fullmatch(r"aidge_trace\((\d+), .*, (\d+)u\);", line).groups()
            sizes[int(index)] = sizes.get(int(index), 0) + int(size)
    inside = {name for cascade in program.schedule.cascades for name in cascade.nodes}
    layers = [(index, layer) for index, layer in enumerate(program.layers) if layer.node.name in inside]
    assert sizes == ({index: layer.outputs[0].size_bytes for index, layer in layers} if program.options.trace else {})


def test_every_layer_runs_once_and_in_order(program):
    layers, cascades = texts_of(program)
    before, after = run_steps(program, layers, cascades)
    waiting = [cascade for cascade in cascades if cascade.first]
    called: dict[str, None] = {}
    for text in (*before, *waiting, *after):
        names = [line.split("(")[0] for case in text.cases for line in case] if isinstance(text, CascadeText) else [text.symbol]
        called |= dict.fromkeys(name for name in names if name in {layer.symbol for layer in program.layers})
    assert sorted(called) == sorted(layer.symbol for layer in program.layers)
    assert [text.symbol for text in cascades] == [f"net_cascade_{number}" for number in range(1, len(cascades) + 1)]
    assert not {text.symbol for text in waiting} & {text.symbol for text in (*before, *after)}
    order = [layer.symbol for layer in program.layers]
    alone = [text.symbol for text in (*before, *after) if not isinstance(text, CascadeText)]
    assert alone == sorted(alone, key=order.index)


def test_the_comment_names_the_layers_and_the_code_hands_on_what_they_read(program):
    _, cascades = texts_of(program)
    code = emit(program).files["net.c"].decode()
    numbers = {layer.node.name: number for number, layer in enumerate(program.layers, 1)}
    for cascade, text in zip(program.schedule.cascades, cascades, strict=True):
        places = [numbers[name] for name in cascade.nodes if name in numbers]
        if cascade.is_cut:
            assert text.comment == (f"Layer {places[0]}, some rows at a time.",)
            continue
        assert text.comment[0].startswith(f"Layers {min(places)} to {max(places)}, some rows of each at a time")
        kept = [f"keeps {line.rows} of {line.height} rows of '{line.tensor}'" for line in cascade.lines.values()]
        assert [line.strip() for line in text.comment[1:]] == kept
        is_replaced = bool(program.options.replaces_weights)
        assert ("weights_bytes" in text.passed) == ("const uint8_t *weights" in text.parameters) == is_replaced
        assert f"{text.symbol}(" in code and bool(text.first) == cascade.waits
