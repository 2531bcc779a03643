# SPDX-License-Identifier: MIT
"""`--assembly off`: who takes the layers, what the build says of the loss, and what is not printed."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.build.compile import build_program, compile
from aidge_build.build.emit import emit
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.library import load_library

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"
CORES = {
    "m0plus": ("--cpu=cortex-m0plus",),
    "m3": ("--cpu=cortex-m3",),
    "m4": ("--cpu=cortex-m4", "--fpu=auto"),
    "m55": ("--cpu=cortex-m55", "--fpu=auto"),
}


def request_of(*words: str):
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return load(parser.parse_args([*words, str(DIGITS)]), "digits")


def libraries_of(program) -> set[str]:
    return {layer.kernel.library for layer in program.layers}


@pytest.mark.parametrize(
    "core, taking, faster",
    [
        ("m0plus", "ref", "armv6m"),
        ("m3", "ref", "armv7m"),
        ("m4", "cortexm, ref", "cortexm"),
        ("m55", "cortexm, ref", "helium"),
    ],
)
def test_the_build_says_who_takes_the_layers_what_that_costs_and_what_would_help(core, taking, faster):
    program = build_program(request_of(*CORES[core], "--assembly=off"))
    (line,) = [notice for notice in program.notices if notice.startswith("--assembly off: ")]
    assert f"take kernels of {taking} instead of faster ones of {faster}" in line
    assert line.endswith("with --assembly on they take the faster kernels") and "\n" not in line
    assert not any(layer.kernel.assembly == "needed" for layer in program.layers)
    assert [notice for notice in build_program(request_of(*CORES[core])).notices if "assembly" in notice] == []


def test_the_cost_comes_from_what_libraries_say_of_themselves():
    def numbers(core: str) -> tuple[int, int]:
        (line,) = [text for text in build_program(request_of(*CORES[core], "--assembly=off")).notices if "--assembly off" in text]
        before, after = line.split(", about ")[1].split(" instructions;")[0].split(" instead of ")
        return int(before.replace(",", "")), int(after.replace(",", ""))

    macs = sum(layer.macs for layer in build_program(request_of(*CORES["m4"])).layers)
    assert numbers("m4") == (round(5.2 * macs), round(0.95 * macs))
    assert numbers("m3") == pytest.approx((5.2 * macs, 1.3 * macs), rel=0.05)  # but for the last layer, which ref has in any case
    slow, fast = numbers("m0plus")
    assert fast == pytest.approx(2.7 * macs, rel=0.01) and 9 * macs <= slow < 10 * macs


def test_a_library_that_the_user_names_alone_has_no_faster_one():
    program = build_program(request_of(*CORES["m4"], "--lib=ref", "--assembly=off"))
    assert libraries_of(program) == {"ref"} and not any("assembly" in notice for notice in program.notices)


def test_what_kernels_need_and_do_not_get_is_among_the_reasons():
    program = build_program(request_of(*CORES["m55"], "--assembly=off"))
    rejected = [reason for layer in program.layers for _, reason in layer.rejected]
    assert "is assembly, and the build takes none" in rejected


def test_no_statement_for_the_assembler_is_printed_beside_kernels():
    files = compile(request_of(*CORES["m4"], "--assembly=off")).files
    assert "__asm__" not in files["digits_weights.c"].decode() and "the claim" in files["digits_weights.c"].decode()
    code = files["digits.c"].decode()
    assert code.index("#define AIDGE_WITHOUT_ASSEMBLY") < code.index("defined(AIDGE_WITHOUT_ASSEMBLY)")
    assert "aidge_digits__" not in code
    with_assembly = compile(request_of(*CORES["m4"])).files
    assert "#define AIDGE_WITHOUT_ASSEMBLY" not in with_assembly["digits.c"].decode()
    assert "__asm__" in with_assembly["digits_weights.c"].decode()


def test_a_compiler_that_takes_no_assembly_is_told_what_to_generate():
    told = "digits was generated with assembly, which this compiler does not take: generate it with --assembly off"
    for core in CORES:
        program = build_program(request_of(*CORES[core]))
        is_needed = any(layer.kernel.assembly == "needed" for layer in program.layers)
        assert (told in emit(program).files["digits.c"].decode()) == is_needed
        assert told not in compile(request_of(*CORES[core], "--assembly=off")).files["digits.c"].decode()


def test_weights_that_the_assembler_includes_are_refused():
    with pytest.raises(AidgeError, match="weights=incbin is text for the assembler"):
        compile(request_of(*CORES["m4"], "--assembly=off", "--weights=incbin"))


KERNEL = b"""
from aidge_build.contract.call import Call
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ImplSpec

@kernel("Add", ImplSpec())
class One(KernelNode):
    pass

@kernel("Sub", ImplSpec())
class Two(KernelNode):
    assembly = "none"
"""


@pytest.mark.parametrize("word, found", [("", "none"), ('assembly = "helps"', "helps"), ('assembly = "needed"', "needed")])
def test_a_library_speaks_for_its_kernels_and_a_kernel_for_itself(word, found):
    library = load_library({"library.toml": f'name = "mine"\n{word}\n'.encode(), "both.py": KERNEL}, "mine")
    assert {kernel.type: kernel.assembly for kernel in library.kernels} == {"Add": found, "Sub": "none"}


def test_another_word_is_refused_with_the_valid_ones():
    with pytest.raises(AidgeError, match="kernel both: assembly is 'much'.*none.*helps.*needed"):
        load_library({"library.toml": b'name = "mine"\nassembly = "much"\n', "both.py": KERNEL}, "mine")
