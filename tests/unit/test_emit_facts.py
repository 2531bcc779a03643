# SPDX-License-Identifier: MIT
"""What header, claim and manifest say of small programs, fact by fact. No compiler."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Region
from aidge_build.build.emit import emit
from aidge_build.build.emit.claim import _code_in, claim_assembly
from aidge_build.build.emit.fast_code import in_sections
from aidge_build.build.emit.functions import functions_of
from aidge_build.build.emit.header import _names_comment, _port_macros
from aidge_build.build.emit.layers import Trace, _removed, layers_of
from aidge_build.build.emit.needs import needs_of
from aidge_build.build.emit.overlaps import apart, overlap_checks, overlap_words
from aidge_build.build.emit.places import Places, port_pointer
from aidge_build.build.emit.ports import ports_of
from aidge_build.build.emit.steps import _trace
from aidge_build.contract.call import Call, Input, Literal, Output, Scratch
from aidge_build.contract.mem_info import MemInfo
from aidge_build.graph.dtype import DType
from aidge_build.plan.constant_arrays import Array, arrays_of
from aidge_build.plan.fast_memory import FastMemory
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.options import Options
from aidge_build.plan.place import Place
from aidge_build.plan.program import CodeTarget, Condition, CopiedTo
from aidge_build.plan.schedule.copies import ConstantCopy, arrays_in_line
from tests.emitted import chain, changed, copying, float_sum, in_two_memories, reversal


def places_of(program) -> Places:
    return Places(program, ports_of(program), arrays_of(program))


def test_the_note_is_the_same_for_a_claim_in_any_order():
    claim = emit(chain()).manifest["claim"]
    assert claim_assembly(dict(reversed(claim.items()))) == claim_assembly(claim) != claim_assembly({**claim, "model": "other"})


@pytest.mark.parametrize(
    "argument, said",
    [(Input(-1), "asks for input -1 of 1"), (Input(1), "asks for input 1 of 1"), (Output(-1), "asks for output -1 of 1")]
    + [(Output(1), "asks for output 1 of 1")],
)
def test_a_kernel_that_asks_for_a_tensor_that_its_node_has_not_is_refused(argument, said):
    program = reversal()
    first = argument if isinstance(argument, Input) else Input(0)
    call = Call("aidge_toy_reverse_s8", ("reverse_s8.h",), (first, argument, Literal(6)))
    with pytest.raises(AidgeError, match=said):
        layers_of(replace(program, layers=(replace(program.layers[0], call=call),)), places_of(program), arrays_of(program))


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize("arena", ["static", "caller"])
def test_a_function_of_steps_says_that_it_refuses_pointers_if_it_gets_any(io, arena):
    program = chain(options=Options(io=io, arena=arena, max_step=1000))
    functions = {function.symbol: function for function in functions_of(program, ports_of(program))}
    for name in ("toy_begin", "toy_step", "toy_end", "toy_cancel"):
        function, own = functions[name], ["toy_instance *self"] * (arena == "caller")
        given = ["const int8_t *input", "int8_t *output"] * (io == "caller" and name == "toy_begin")
        assert function.parameters == (*own, *given) and len(function.arguments) == len(function.parameters)
        comment = " ".join(function.comment)
        is_refusing = bool(function.parameters) and name in ("toy_begin", "toy_step")
        assert ("TOY_POINTER when a pointer is null" in comment) == is_refusing
        assert ("The buffers are in use until then" in comment) == bool(given)


def test_the_claim_says_what_constants_leave_of_a_memory_to_the_functions_there():
    fast = FastMemory("", (), (), layers=(("second", "DTCM"), ("first", "ITCM")), functions=(("aidge_toy_scale_s8", "ITCM"),))
    options = Options(constants_in=(("ITCM", 64), ("DTCM", 32), ("SRAM", 16)))
    program = chain(fast=fast, options=options, regions=(Region("ITCM", 0x100, 0x1000, "ram", ()),))
    sizes = (("ITCM", 10), ("DTCM", 32), ("ITCM", 20), ("SRAM", 8), ("", 99))
    arrays = [Array(f"a{size}", numpy.zeros(size, numpy.int8), "", region=region) for region, size in sizes]
    assert _code_in(program, arrays) == [
        {"room_bytes": 0, "functions": ["toy_second"]},
        {
            "region": "ITCM",
            "memory": {"origin": 0x100, "length_bytes": 0x1000},
            "room_bytes": 34,
            "functions": ["aidge_toy_scale_s8", "toy_first"],
        },
    ]


def test_the_manifest_names_the_places_of_the_tensors_of_each_layer():
    first, second = emit(chain()).manifest["layers"]
    (added,) = emit(float_sum()).manifest["layers"]

    def places(tensors: list[dict]) -> list[tuple[str, str]]:
        return [(tensor["name"], tensor["place"]) for tensor in tensors]

    assert places(first["inputs"]) == [("x", "argument input")] and places(second["outputs"]) == [("y", "argument output")]
    assert places(first["outputs"]) == places(second["inputs"]) == [("middle", "arena bytes 24..29")]
    assert places(added["inputs"]) == [("x", "argument x"), ("c", "flash")]
    assert first["rejected"] == [{"kernel": "other", "reason": "wants float32"}] and not second["rejected"]


@pytest.mark.parametrize(
    "place, words",
    [
        (Place("arena", offset_bytes=24), "arena bytes 24..29"),
        (Place("arena", offset_bytes=0), "arena bytes 0..5"),
        (Place("arena", offset_bytes=0, plane=MemInfo(0, 6, 8, 1, 1)), "arena from byte 0, positions 8 bytes apart"),
        (Place("input"), "argument input"),
        (Place("output", offset_bytes=0), "argument output"),
    ],
)
def test_the_place_of_a_tensor_in_words(place, words):
    program = chain()
    program = changed(program, places={**program.memory.places, "middle": place})
    assert places_of(program).described(program.layers[0].outputs[0], program.layers[0]) == words


@pytest.mark.parametrize(
    "offset, dtype, is_inside",
    [(24, DType.int8, True), (25, DType.int8, False), (-1, DType.int8, False), (0, DType.int32, True), (2, DType.int32, False)]
    + [(4, DType.int32, True), (8, DType.int32, False)],
)
def test_a_tensor_is_inside_of_its_memory_and_aligned_for_its_elements(offset, dtype, is_inside):
    """The arena has 30 bytes, the tensor six elements."""
    program = chain()
    program = changed(program, places={**program.memory.places, "middle": Place("arena", offset_bytes=offset)})
    tensor, places = program.layers[0].outputs[0].with_(dtype=dtype), places_of(program)
    if is_inside:
        assert places.spot(tensor, program.layers[0]).offset_bytes == offset
        return
    with pytest.raises(AidgeError, match=f"has {6 * dtype.size_bytes} B at offset {offset}, the arena 30 B"):
        places.spot(tensor, program.layers[0])


@pytest.mark.parametrize(
    "read, written, words",
    [
        ({0: 0, 1: 0}, {0: 1}, ("Inputs are read before the output is written: they may overlap.",)),
        ({0: 0, 1: 1}, {0: 1}, ("`output` must not overlap `unread`.",)),
        ({0: 1, 1: 1}, {0: 1}, ("Buffers must not overlap.",)),
        ({}, {}, ("Buffers must not overlap.",)),
        ({}, {0: 0}, ("Inputs are read before the output is written: they may overlap.",)),
    ],
)
def test_an_input_must_not_overlap_an_output_that_is_written_while_it_is_still_read(read, written, words):
    program = float_sum()
    program.__dict__["moments"] = (read, written)
    ports = ports_of(program)
    assert overlap_words(program, ports) == words
    assert len(apart(program, ports)) == sum(read.get(number, -1) >= written.get(0, -1) for number in (0, 1))
    assert overlap_words(replace(program, options=Options(io="arena")), ports) == ()


@pytest.mark.parametrize("mode, begin", [("memcpy", "(void)memcpy("), ("hook", "toy_copy_")])
def test_constants_that_are_copied_are_copied_before_their_layer(mode, begin):
    first, second = layers_of(copying(mode), places_of(copying(mode)), arrays_of(copying(mode)))
    assert first.before and all(line.startswith(begin) for line in first.before) and not second.before
    assert sum("24u" in line for line in first.before) == sum("6u" in line for line in first.before) > 0


def test_a_pointer_to_an_input_in_the_arena_is_where_the_header_says():
    program = chain(options=Options(io="arena"))
    program = changed(program, places={**program.memory.places, "x": Place("arena", offset_bytes=4), "y": Place("arena")})
    given, handed_out = ports_of(program)
    assert (port_pointer(program, given), port_pointer(program, handed_out)) == ("&arena_bytes[4]", "&arena_bytes[0]")
    header = emit(program).files["toy.h"].decode()
    assert re.findall(r"#define TOY_(?:IN|OUT)PUT (.*)", header) == [
        "((int8_t *)(void *)&toy_arena[4])",
        "((int8_t *)(void *)&toy_arena[0])",
    ]


def test_an_empty_buffer_may_be_anywhere():
    program = chain(options=Options(arena="caller"))
    given, handed_out = ports_of(program)
    empty = replace(given, tensor=given.tensor.with_(dims=(0,)))
    compared = [set(re.findall(r"\)(\w+)", check)) for check in overlap_checks(program, (empty, handed_out), "arena")]
    assert compared == [{"arena", "output"}]
    program.__dict__["moments"] = ({}, {})
    both = [len(overlap_checks(program, ports, "")) for ports in ((given, handed_out), (empty, handed_out), (empty, empty))]
    assert both == [1, 0, 0]


def test_an_arena_in_two_memories_has_an_array_in_each():
    made = emit(in_two_memories())
    claim, manifest = made.manifest["claim"], made.manifest
    assert [(one["symbol"], one["size_bytes"], one["region"], one["memory"]["origin"]) for one in claim["arenas"]] == [
        ("toy_arena_dtcm", 24, "DTCM", 0x10000000),
        ("toy_arena_sram", 6, "SRAM", 0x20000000),
    ]
    numbers = dict(re.findall(r"\.set aidge_toy__(\w+), (\d+)", "\n".join(claim_assembly(claim))))
    assert numbers == {
        "arena_bytes": "0",
        "arena_dtcm_bytes": "24",
        "arena_sram_bytes": "6",
        "state_bytes": "0",
        "weights_bytes": "30",
    }
    assert [(one["name"], one["region"], one["offset_bytes"]) for one in manifest["buffers"]] == [
        ("scratch", "DTCM", 0),
        ("middle", "SRAM", 0),
    ]
    assert {one["region"] for one in manifest["peak_buffers"]} == {"DTCM"}, "a plan that is not linked has one region"
    offsets = [one["offset_bytes"] for one in emit(chain()).manifest["peak_buffers"]]
    assert [one["offset_bytes"] for one in manifest["peak_buffers"]] == offsets
    assert [(one["name"], one["used_bytes"]) for one in manifest["regions"]] == [("DTCM", 24), ("SRAM", 6)]
    assert manifest["regions_proved_optimal"] is False and emit(chain()).manifest["regions_proved_optimal"] is None


def test_an_arena_in_one_piece_is_one_number_in_the_program_and_its_region_is_called_arena():
    claim, manifest = (emit(chain()).manifest[key] for key in ("claim", "buffers"))
    assert [line for line in claim_assembly(claim) if line.startswith(".set")] == [
        ".set aidge_toy__arena_bytes, 30",
        ".set aidge_toy__state_bytes, 0",
        ".set aidge_toy__weights_bytes, 30",
    ]
    assert {one["region"] for one in manifest} == {"arena"} and claim["arenas"][0]["region"] is claim["arenas"][0][
        "memory"
    ] is None
    scratch = [emit(program).manifest["scratch_bytes"] for program in (chain(), float_sum())]
    assert scratch == [24, 0]


OPTIONAL = {"constants_in", "copied_constants", "rows", "record", "steps"}


@pytest.mark.parametrize(
    "made, keys",
    [
        (chain, set()),
        (lambda: chain(options=Options(constants_in=(("ITCM", 64),))), {"constants_in"}),
        (lambda: copying("memcpy"), {"copied_constants"}),
        (lambda: copying("hook"), {"copied_constants"}),
        (lambda: chain(options=Options(record=2)), {"record"}),
        (lambda: chain(options=Options(max_step=1000)), {"steps"}),
        (lambda: chain(options=Options(max_step=1000, arena="caller")), {"steps"}),
    ],
)
def test_claim_and_manifest_tell_of_an_option_if_it_is_on(made, keys):
    program = made()
    manifest = emit(program).manifest
    claim = manifest["claim"]
    assert manifest.keys() & OPTIONAL == keys and ("steps" in claim) == ("steps" in keys)
    assert ("copies" in claim) == (program.options.copy_constants == "hook")
    assert ("calls" in claim, "passed" in claim) == ((True, False) if program.options.arena == "static" else (False, True))


@pytest.mark.parametrize("line, size", [(0, 0), (1, 6), (4, 8), (6, 6), (32, 32)])
def test_a_buffer_with_lines_of_its_own_has_whole_lines(line, size):
    (port, _) = ports_of(chain())
    assert replace(port, line=line).line_bytes == size


@pytest.mark.parametrize("options", [Options(max_step=1000, arena="caller"), Options(arena="caller", update="weights")])
def test_an_instance_of_a_model_without_a_state_has_none(options):
    header = emit(chain(options=options)).files["toy.h"].decode()
    assert "uint8_t *arena;" in header and "uint8_t *state;" not in header


def test_without_assembly_no_line_says_the_digest_of_the_code():
    made = emit(chain(options=Options(assembly="off")))
    assert made.manifest["claim"]["code"] == "" and b"__asm__" not in made.files["toy.c"] + made.files["toy_weights.c"]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"call": Call("aidge_toy_reverse_s8", ("reverse_s8.h",), ("text",))}, "the kernel passes a str"),
        ({"call": Call("aidge_toy_reverse_s8", ("reverse_s8.h",), (Scratch(),))}, "uses scratch that it did not demand"),
    ],
)
def test_a_kernel_that_passes_what_no_layer_has_is_refused(change, said):
    program = reversal()
    with pytest.raises(AidgeError, match=said):
        emit(replace(program, layers=(replace(program.layers[0], **change),)))


def test_a_constant_is_not_written():
    program = chain()
    other = changed(program, places={**program.memory.places, "middle": Place("constant")})
    with pytest.raises(AidgeError, match="the constant tensor 'middle' is written"):
        Places(other, ports_of(program), arrays_of(program)).spot(program.layers[0].outputs[0], program.layers[0])


def test_the_comment_of_a_layer_names_four_origins_and_the_channels_that_are_left_out():
    program = reversal()
    node, tensor = program.layers[0].node, program.layers[0].inputs[0]
    for count, said in ((4, "'0', '1', '2', '3'\n"), (5, "'0', '1', '2', '3', 1 more\n")):
        layer = replace(program.layers[0], node=replace(node, origin=tuple(map(str, range(count)))))
        assert f"ONNX    {said}" in emit(replace(program, layers=(layer,))).files["toy.c"].decode()
    assert _removed(tensor) == ""
    left = SimpleNamespace(removed_channels=2, kept=SimpleNamespace(count=8))
    assert _removed(left) == "; 2 of 8 channels are constant or unread, and left out"


def test_the_order_of_a_program_without_a_search_is_not_known():
    program = chain()
    manifest = emit(replace(program, schedule=replace(program.schedule, order=None))).manifest
    found = [manifest[f"order_{key}"] for key in ("peak_bytes", "lower_bound_bytes", "proved_optimal", "states")]
    assert found == [None, None, False, 0]


@pytest.mark.parametrize(
    "text, is_double",
    [("float f(float x);", False), ("double f(double x);", True), ("y = pow(x, 2);", True), ("powf(x);", False)],
)
def test_the_header_names_functions_of_double_precision_if_a_kernel_may_call_one(text, is_double):
    said = "\n".join(needs_of(float_sum(), [text]))
    assert ("double precision" in said) == is_double and "single precision" in said and "integers" in said
    assert "double precision" not in "\n".join(needs_of(chain(), [text])), "bytes need no function"


def test_the_header_of_a_program_for_riscv_names_the_functions_of_its_library():
    condition = Condition("!defined(__riscv) || defined(__riscv_mul)", "")
    for program, is_float in ((chain(), False), (float_sum(), True)):
        said = "\n".join(needs_of(replace(program, target=CodeTarget("fe310", conditions=(condition,))), ["pow(x);"]))
        assert "__clzsi2" in said and "__aeabi" not in said and "-nostdlib works" not in said
        assert ("__*sf3" in said) == ("__*df3" in said) == is_float


def test_rows_are_reported_one_by_one():
    assert _trace(Trace(3, "p", 8)) == ["aidge_trace(3, p, 8u);"]
    lines = _trace(Trace(3, "p", 8, rows=2, stride_bytes=16))
    assert "    for (row = 0; row < 2u; row++) {" in lines
    assert "        aidge_trace(3, (const uint8_t *)(const void *)(p) + row * 16u, 8u);" in lines


@pytest.mark.parametrize(
    "is_float, is_input, words", [(True, True, "columns"), (False, True, "write -1"), (False, False, "from 0.")]
)
def test_the_header_says_what_the_names_of_an_input_or_output_are(is_float, is_input, words):
    port = ports_of(chain())[0]
    tensor = port.tensor.with_(names=("a", "b"), dtype=DType.float32 if is_float else DType.int8)
    (comment,) = _names_comment(replace(port, tensor=tensor, is_input=is_input))
    assert words in comment and ("write -1" in comment) == (is_input and not is_float)
    assert _names_comment(port) == ()


def test_a_constant_tensor_that_is_copied_is_read_from_its_copy():
    program = float_sum(options=Options(copy_constants="memcpy"))
    copy = ConstantCopy("add", 0, 0, arrays_in_line([(1, 16)], 8), 8)
    layer = replace(program.layers[0], copied=CopiedTo(copy, 0))
    program = changed(program, arena=plan([copy.buffer]), layers=(layer,), alignment=8)
    (text,) = layers_of(program, places_of(program), arrays_of(program))
    assert text.arguments[1] == "(const float *)(const void *)&arena[0]"


@pytest.mark.parametrize(
    "is_input, labels, is_known", [(False, ("a", "b"), True), (True, ("a", "b"), False), (False, ("a", "c"), False)]
)
def test_an_output_that_names_the_classes_of_the_model_refers_to_their_list(is_input, labels, is_known):
    port = ports_of(chain())[0]
    port = replace(port, is_input=is_input, tensor=port.tensor.with_(names=("a", "b")), macro="TOY_PORT")
    program = SimpleNamespace(name="toy", labels=labels, options=Options())
    values = dict(_port_macros(program, port, False).values)
    assert values["TOY_PORT_NAMES"] == ("TOY_LABELS" if is_known else '{"a", "b"}') and values["TOY_PORT_NAMES_SIZE"] == "2"


def test_of_functions_that_no_kernel_has_the_first_one_is_named():
    with pytest.raises(AidgeError, match="names the function 'alpha', which no kernel of the model has"):
        in_sections(["static int other(void) { return 0; }"], {"zeta": "ITCM", "alpha": "ITCM", "other": "ITCM"})


@pytest.mark.parametrize("count, is_compared", [(128, True), (129, False)])
def test_a_run_compares_128_pairs_of_buffers_at_most(count, is_compared):
    program = chain(options=Options(arena="caller"))
    program.__dict__["moments"] = ({}, {})
    given, handed_out = ports_of(program)
    ports = (*(replace(given, parameter=f"x{number}") for number in range(count)), handed_out)
    assert len(apart(program, ports)) == count * is_compared
    assert (overlap_words(program, ports) == ("Buffers must not overlap; there are too many to compare.",)) != is_compared
    with_arena = [check for check in overlap_checks(program, ports[-count:], "arena") if "(uintptr_t)arena" in check]
    assert len(with_arena) == count * is_compared
