# SPDX-License-Identifier: MIT
"""The generated text as text: what it contains, on what it depends, what it refuses. No compiler."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import struct

import numpy
import pytest

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.emit import emit
from aidge_build.emit.arrays import Array
from aidge_build.emit.kernels import kernel_text
from aidge_build.errors import AidgeError
from aidge_build.program import ArenaPart, Options, Place
from tests.effort import counted
from tests.emitted import chain, float_sum

HOSTILE = ("w*/ int injected = 42; /*", "first\\\n??/#include <stdlib.h>", "{{7*7}} $(id) %s", "int", "\U0001f600\udc80\u202e")


def text_of(program, ending: str) -> str:
    return emit(program).files[program.name + ending].decode()


def test_the_list_of_files_depends_on_the_call_alone():
    assert list(emit(chain()).files) == ["toy.h", "toy.c", "toy_weights.c", "toy.plan.json"]
    incbin = Options(weights="incbin")
    assert [*emit(chain(options=incbin)).files] == ["toy.h", "toy.c", "toy_weights.c", "toy_weights.bin", "toy.plan.json"]
    assert "empty_weights.bin" in emit(float_sum("empty", options=incbin)).files


def test_new_weights_change_neither_code_nor_header():
    old, new = emit(chain()), emit(chain(weights=numpy.full(6, -7, numpy.int8), model_sha256="ef" * 32))
    assert {name for name in old.files if old.files[name] != new.files[name]} == {"toy_weights.c", "toy.plan.json"}


def digest_of(program) -> str:
    """What the second names of the program's functions end in."""
    (digest,) = set(re.findall(r"_run_([0-9a-f]{12})\b", text_of(program, ".h")))
    return digest


def code_digest_of(program) -> str:
    """What the last lines of the code file say of those before."""
    (digest,) = set(re.findall(r"__code_([0-9a-f]{12})\b", text_of(program, ".c")))
    return digest


def with_digests_of(other, program) -> str:
    """The code of a program with the digests of another one."""
    text = text_of(program, ".c").replace(digest_of(program), digest_of(other))
    return text.replace(code_digest_of(program), code_digest_of(other))


def test_new_scales_change_the_header_and_of_the_code_its_digests_alone():
    old = chain()
    x = old.view.tensor("x")
    x = x.with_(quantization=dataclasses.replace(x.quantization, scales=(0.5,)))
    view = dataclasses.replace(old.view, tensors={**old.view.tensors, "x": x})
    layers = (dataclasses.replace(old.layers[0], inputs=(x,)), old.layers[1])
    new = dataclasses.replace(old, view=view, layers=layers)
    assert digest_of(new) != digest_of(old)
    assert with_digests_of(old, new) == text_of(old, ".c") and code_digest_of(new) != code_digest_of(old)
    assert "#define TOY_INPUT_SCALE 0.5f\n" in text_of(new, ".h")


@pytest.mark.parametrize("options", [Options(), Options(io="arena"), Options(arena="caller")], ids=str)
def test_the_digest_is_that_of_the_header_without_it(options):
    header, digest = text_of(chain(options=options), ".h"), digest_of(chain(options=options))
    assert hashlib.sha256(header.replace(digest, "").encode()).hexdigest().startswith(digest)
    assert f"#define TOY_HEADER_{digest}\n" in header and digest in text_of(chain(options=options), ".c")


def test_the_code_says_the_digest_of_what_stands_before_and_the_claim_that_it_belongs_to_it():
    code, weights = text_of(chain(), ".c"), text_of(chain(), "_weights.c")
    before, comment, _ = code.partition("/* Which code this is:")
    assert comment and hashlib.sha256(before.encode()).hexdigest()[:12] == code_digest_of(chain())
    claim = "".join(re.findall(r'"\.ascii \\"(.*)\\"\\n"', weights)).replace('\\\\\\"', '"')
    assert f'"code":"{code_digest_of(chain())}"' in claim and f'"interface":"{digest_of(chain())}"' in claim


def test_other_weights_keep_the_code_and_its_digest():
    assert text_of(chain(weights=numpy.full(6, 3, numpy.int8)), ".c") == text_of(chain(), ".c")


def test_a_constant_has_the_bytes_of_its_text_whatever_the_model_called_true_and_not_a_number():
    odd = numpy.array([0xFFC00001, 0x7F800001, 0x3F800000], numpy.uint32).view(numpy.float32)
    assert Array("x", odd, "").data == struct.pack("<III", 0x7FC00000, 0x7FC00000, 0x3F800000)
    assert Array("x", numpy.array([0xFFF1 << 48], numpy.uint64).view(numpy.float64), "").data == struct.pack("<Q", 0x7FF8 << 48)
    assert Array("x", numpy.array([0, 2, 255], numpy.uint8).view(numpy.bool_), "").data == bytes([0, 1, 1])
    assert Array("x", numpy.array([1, -2], ">i2"), "").data == bytes([1, 0, 254, 255])


def test_any_difference_of_the_interface_is_one_of_the_digest():
    programs = [
        chain(),
        chain(count=7),
        chain(names=("x2", "first", "middle", "second", "y")),
        chain(arena_alignment=16),
        *(chain(options=Options(**{option: value})) for option, value in (("io", "arena"), ("arena", "caller"))),
    ]
    assert len({digest_of(program) for program in programs}) == len(programs)


def test_every_array_and_function_of_the_header_has_a_second_name_in_the_code():
    parts = (ArenaPart("DTCM", 0, chain().arena, "dtcm"), ArenaPart("SRAM", 32, chain().arena, "sram"))
    program = chain(options=Options(io="arena"), split=parts)
    header, code, digest = text_of(program, ".h"), text_of(program, ".c"), digest_of(program)
    declared = re.findall(r"^(?:extern uint8_t|int) (\w+)[(\[]", header, re.M)
    assert declared == ["toy_arena_dtcm", "toy_arena_sram", "toy_run"]
    for symbol in declared:
        assert f"#pragma redefine_extname {symbol} {symbol}_{digest}\n" in header
        assert f"#define {symbol} {symbol}_{digest}\n" in header
        assert re.search(rf"{symbol}_{digest}[(\[].*ALIAS\({symbol}\)|{symbol}_{digest}\[.*alias\(\"{symbol}\"\)", code)


def test_the_code_holds_called_kernels_once_and_no_other():
    text = text_of(chain(), ".c")
    assert text.count("} aidge_toy_shape;") == 1 and text.count("SPDX-License-Identifier: 0BSD") == 4
    assert "aidge_toy_unused" not in text and "aidge_toy_add_f32" not in text
    assert re.findall(r"^#include (.*)$", text, re.M) == ['"toy.h"', "<stdint.h>", "<string.h>", "<arm_acle.h>"]


def test_neither_hash_nor_version_nor_weight_is_in_code_and_header():
    for ending in (".c", ".h"):
        text = text_of(chain(weights=numpy.full(6, 93, numpy.int8)), ending)
        assert "abab" not in text and "0.1" not in text.replace("SCALE 0.1f", "") and "93" not in text


def test_no_text_of_the_model_reaches_c_unescaped():
    program = chain(names=("x*/", *HOSTILE[:2], HOSTILE[4], "y"))
    for name, data in emit(program).files.items():
        if not name.endswith(".json"):
            assert data.isascii()
            code = re.sub(rb"/\*.*?\*/", b"", data, flags=re.S)
            assert not any(word in code for word in (b"injected", b"stdlib", b"??/"))
    assert json.loads(emit(program).files["toy.plan.json"])["layers"][0]["name"] == HOSTILE[0]


def test_layers_get_the_arena_as_a_parameter_and_never_name_it():
    """GCC 12 drops calls of functions that write through the address of a known array (see emit/places.py)."""
    layers = text_of(chain(), ".c").split("/* ---- The layers ---- */")[1].split("int toy_run")[0]
    assert "toy_arena" not in layers and "uint8_t *arena" in layers


def test_a_trace_is_only_in_the_code_that_asked_for_it():
    assert "aidge_trace" not in text_of(chain(), ".c")
    text = text_of(chain(options=Options(trace=True)), ".c")
    assert (
        "    aidge_trace(0, (int8_t *)&arena_bytes[24], 6u);\n    toy_second(arena_bytes, output);\n    "
        "aidge_trace(1, output, 6u);\n" in text
    )


def test_float_tensors_refuse_fast_math_and_int8_ones_do_not():
    assert "__FAST_MATH__" in text_of(float_sum(), ".c") and "__FAST_MATH__" not in text_of(chain(), ".c")


def test_an_arena_of_no_bytes_is_no_array():
    assert "sum_arena" not in text_of(float_sum(), ".c")


def test_the_region_names_the_section_of_the_arena():
    assert 'section(".bss.aidge_DTCM.toy")' in text_of(chain(region="DTCM"), ".c")


def test_io_in_the_arena_gives_pointers_as_macros():
    header = text_of(chain(options=Options(io="arena")), ".h")
    assert re.search(r"#define TOY_INPUT \(\(int8_t \*\)\(void \*\)&toy_arena\[\d+\]\)", header)
    assert "int toy_run(void);" in header and "extern uint8_t toy_arena[TOY_ARENA_BYTES];" in header


def test_several_inputs_have_macros_and_parameters_of_their_own_names():
    header = text_of(float_sum(), ".h")
    assert "#define SUM_UNREAD_SIZE 4\n" in header
    assert "int sum_run(const float *x, const float *unread, float *output);" in header


def test_the_manifest_answers_what_scripts_ask():
    manifest = emit(chain()).manifest
    assert {
        "schema",
        "model",
        "model_sha256",
        "tool",
        "options",
        "inputs",
        "outputs",
        "layers",
        "buffers",
        "arena_bytes",
        "io_bytes",
        "peak_bytes",
        "lower_bound_bytes",
        "weights_bytes",
        "regions",
        "bound_node",
        "order_peak_bytes",
        "order_proved_optimal",
        "offsets_proved_optimal",
        "scratch_bytes",
        "state_bytes",
        "order",
    } <= manifest.keys()
    assert (manifest["schema"], manifest["arena_bytes"], manifest["io_bytes"], manifest["weights_bytes"]) == (1, 30, 12, 30)
    assert (
        manifest["inputs"][0]
        | {"name": "x", "symbol": "input", "dims": [1, 6], "dtype": "int8", "zero_point": -3, "size_bytes": 6}
        == manifest["inputs"][0]
    )
    assert manifest["symbols"] == {
        "nodes": {"first": "toy_first", "second": "toy_second"},
        "tensors": {"x": "input", "y": "output"},
    }
    assert (manifest["order_proved_optimal"], manifest["bound_node"], manifest["order"]) == (True, "first", ["first", "second"])


def test_the_manifest_is_text_with_sorted_keys():
    text = text_of(chain(), ".plan.json")
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n"


def test_the_same_program_gives_the_same_bytes():
    assert emit(chain()).files == emit(chain()).files


def test_another_name_changes_nothing_but_the_prefix():
    renamed = with_digests_of(chain(), chain("other")).replace("other", "toy").replace("OTHER", "TOY")
    assert renamed == text_of(chain(), ".c").replace("wants other", "wants toy")


@pytest.mark.parametrize(
    "values, text",
    [
        (numpy.array([-128, 127], numpy.int8), "-128, 127,"),
        (numpy.array([-(2**31), 2**31 - 1], numpy.int32), "(-2147483647 - 1), 2147483647,"),
        (numpy.array([2**32 - 1], numpy.uint32), "4294967295u,"),
        (numpy.array([-(2**63)], numpy.int64), "(-9223372036854775807LL - 1),"),
        (numpy.array([0.1, -0.0, 1, 1e30, 1e-45], numpy.float32), "0.1f, -0.0f, 1.0f, 1e+30f, 1e-45f,"),
        (numpy.array([numpy.nan, numpy.inf, -numpy.inf], numpy.float32), "NAN, INFINITY, -INFINITY,"),
        (numpy.array([0.1, -numpy.inf]), "0.1, -(double)INFINITY,"),
        (numpy.array([1], numpy.float16), "0x3c00,"),
        (numpy.array([True, False]), "1, 0,"),
        (numpy.zeros(0, numpy.int8), "0,"),
    ],
)
def test_numbers_are_printed_exactly(values, text):
    assert Array("x", values, "").lines() == [text]


def test_float32_text_reads_back_as_the_same_bits():
    bits = numpy.random.default_rng(1).integers(0, 2**32, 5000, numpy.uint32)
    values = bits.view(numpy.float32)
    values = values[numpy.isfinite(values)]
    numbers = re.findall(r"[^ ,]+(?=f,)", "".join(Array("x", values, "").lines()))
    assert numpy.array_equal(numpy.array(numbers, numpy.float32).view(numpy.uint32), values.view(numpy.uint32))


def test_lines_of_numbers_fit_and_take_less_than_one_call_per_number():
    values = numpy.random.default_rng(1).integers(-128, 128, 900_000).astype(numpy.int8)
    lines, calls = counted(Array("x", values, "").lines)
    assert calls < 100_000
    assert max(map(len, lines)) <= 116 and sum(line.count(",") for line in lines) == 900_000


def test_the_bin_holds_each_array_at_its_alignment():
    sources = emit(chain(count=5, options=Options(weights="incbin")))
    binary = sources.files["toy_weights.bin"]
    assert binary == bytes([1, 2, 3, 4, 5, 0, 0, 0]) + numpy.arange(0, -5, -1, dtype=numpy.int32).tobytes()
    assert '.incbin \\"" TOY_WEIGHTS_FILE "\\", 8, 20' in sources.files["toy_weights.c"].decode()


ENDS = {"x": Place("input"), "y": Place("output")}


def with_call(call: Call, **changes):
    program = chain()
    return dataclasses.replace(program, layers=(program.layers[0], dataclasses.replace(program.layers[1], call=call, **changes)))


@pytest.mark.parametrize(
    "program, what",
    [
        (lambda: chain(places=ENDS), "tensor 'middle' has no place"),
        (lambda: chain(places=ENDS | {"middle": Place("arena", offset_bytes=25)}), "at offset 25"),
        (lambda: chain(places=ENDS | {"middle": Place("input")}), "written into the firmware's input"),
        (
            lambda: chain(places={"x": Place("input"), "middle": Place("arena"), "y": Place("arena")}, layers=()),
            "no layer writes",
        ),
        (lambda: with_call(Call("aidge_toy_reverse_s8", ("missing.h",), (Input(), Output()))), "no file 'missing.h'"),
        (lambda: with_call(Call("f(); g", ("reverse_s8.h",), (Input(), Output()))), "no C name"),
        (lambda: with_call(Call("aidge_toy_reverse_s8", ("reverse_s8.h",), (Input(3), Output()))), "asks for input 3 of 1"),
        (
            lambda: with_call(Call("aidge_toy_reverse_s8", ("reverse_s8.h",), (Input(), Output(), Literal(2**64)))),
            "fits no C type",
        ),
        (lambda: chain("main"), "is a word of C"),
        (lambda: chain(region="a b"), "no identifier"),
        (lambda: chain(options=Options(weights="zip")), "weights='zip'"),
        (lambda: chain(alignment=2), "alignment is 2"),
    ],
)
def test_a_program_that_would_be_wrong_is_refused(program, what):
    with pytest.raises(AidgeError, match=re.escape(what)):
        emit(program())


def test_files_of_equal_name_in_two_libraries_do_not_clash():
    guarded = b"#ifndef K_H\n#define K_H\nstatic int aidge_%s_k;\n#endif /* K_H */\n"
    text = kernel_text({"a": {"k.h": guarded % b"a"}, "b": {"k.h": guarded % b"b"}}, [("a", "k.h"), ("b", "./k.h"), ("a", "k.h")])
    assert [file.text for file in text.files] == ["static int aidge_a_k;", "static int aidge_b_k;"]


def test_includes_come_before_and_comments_hide_directives():
    files = {
        "ops/a.h": b'#include "b.h"\n#include "../c.h"\n/* don\'t read:\n#include "nothing.h"\n*/ int a;\n',
        "ops/b.h": b'#include "a.h"\nint b;',
        "c.h": b"#if defined(X)\n#include <x.h>\n#endif\n#include <y.h>\nint c;",
    }
    text = kernel_text({"l": files}, [("l", "ops/a.h")])
    assert [file.title for file in text.files] == ["l/ops/b.h", "l/c.h", "l/ops/a.h"]
    assert text.system_includes == ("<y.h>",) and "#include <x.h>" in text.files[1].text


def test_an_include_guard_with_an_else_is_left_alone():
    text = kernel_text({"l": {"a.h": b"#ifndef A\n#define A\nint a;\n#else\nint b;\n#endif\n"}}, [("l", "a.h")])
    assert text.files[0].text.startswith("#ifndef A")


@pytest.mark.parametrize(
    "files, what",
    [
        ({"a.h": b'#include "../../etc/passwd"\n'}, "no file '../../etc/passwd'"),
        ({"a.h": b'#if X\n#include "a.h"\n#endif\n'}, "inside #if"),
        ({"a.h": b"\xff"}, "not UTF-8"),
    ],
)
def test_a_library_that_cannot_be_put_together_is_refused_by_file(files, what):
    with pytest.raises(AidgeError, match=re.escape(what)) as refusal:
        kernel_text({"l": files}, [("l", "a.h")])
    assert "library l: a.h" in str(refusal.value)
