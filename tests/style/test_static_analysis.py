# SPDX-License-Identifier: MIT
"""What `./sconsw misra` judges by, and a small model that it reads; the whole takes minutes."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from aidge_build.build.emit import emit
from aidge_build.build.emit.kernels import KernelFile, KernelText
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.library import Library
from tools.static_analysis import ROOT, networks, page, texts
from tools.static_analysis.findings import Deviation, Finding, deviations, sort_out
from tools.static_analysis.rules import ADVISORY, MANDATORY, is_binding
from tools.static_analysis.texts import CORES, Text, library_text, texts_of_model

needs_cppcheck = pytest.mark.skipif(shutil.which("cppcheck") is None, reason="needs cppcheck")
SHIFT = Deviation("D1", ("10.1",), re.compile("<<|>>"), ("kit/*",), "shifts", "why")


def of_name(library: str) -> Library:
    return load_libraries([library], find_libraries([]))[0][0]


def test_a_finding_is_covered_by_rule_place_and_line_together():
    findings = [
        Finding("misra", "10.1", "kit/a.h", "x >> n;"),
        Finding("misra", "10.1", "kit/a.h", "x += y < z;"),
        Finding("misra", "10.3", "kit/a.h", "x >> n;"),
        Finding("misra", "10.1", "ref/a.h", "x >> n;"),
    ]
    assert sort_out(findings, (SHIFT,)) == (findings[1:], {"D1": 1})


def test_every_deviation_says_rules_where_and_why_and_none_is_of_a_mandatory_rule():
    known = deviations()
    assert [deviation.name for deviation in known] == [f"D{number}" for number in range(1, len(known) + 1)]
    assert all(deviation.rules and deviation.where and deviation.reason.endswith((".", ")")) for deviation in known)
    assert not MANDATORY & {rule for deviation in known for rule in deviation.rules}


def test_required_and_mandatory_rules_bind_and_advisory_ones_do_not():
    assert is_binding("9.1") and is_binding("17.7") and not is_binding("15.5") and not ADVISORY & MANDATORY


def test_the_published_page_has_every_deviation_and_no_finding_outside():
    text = page.PAGE.read_text()
    for deviation in deviations():
        (row,) = re.findall(rf"^\| {deviation.name} \|.*$", text, re.MULTILINE)
        assert f"| {deviation.where} |" in row and row.endswith(f"| {deviation.reason} |")
    cells = re.findall(r" (\d+) \(\d+\) ", text)
    assert len(cells) > 60 and set(cells) == {"0"}


def test_the_published_page_has_the_network_of_each_library():
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (`.*`) \|$", page.PAGE.read_text(), re.MULTILINE)
    assert [library for library, *_ in rows] == list(CORES) and all(int(layers) > 9 for _, layers, _ in rows)


def test_a_line_of_a_library_is_found_in_its_file():
    made = library_text(KernelText(("<math.h>",), (KernelFile("kit/a.h", "int a;"), KernelFile("ref/b.h", "int b;"))))
    text, lines = Text("t", "t.c", made, CORES["ref"]), made.split("\n")
    assert [text.place_of(lines.index(f"int {name};") + 1) for name in "ab"] == ["kit/a.h", "ref/b.h"]


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="AIDGE_STRESS=1 looks at the cases of all tests")
@pytest.mark.parametrize("library", CORES)
def test_a_network_that_uses_every_kernel_can_be_made_of_the_cases_of_the_tests(library):
    program = networks.network(library)
    assert {layer.kernel.name for layer in program.layers} == {kernel.name for kernel in of_name(library).kernels}, (
        "a kernel has no case: a test of the library gives its cases in a function `candidates`, or every_layer.py names them"
    )
    code = emit(program).files[f"{program.name}.c"].decode()
    places = set(re.findall(r"/\* FILE (\S+) \*/", texts.with_places(code, program)))
    assert {f"{library}/generated.c", "generated/N.c"} < places


def test_the_c_of_boards_and_the_glue_to_cmsis_nn_and_esp_nn_are_read():
    assert [text.place for text in texts.boards()] == ["boards/semihosting.c", "boards/startup.c", "boards/startup_riscv.c"]
    for glue, library in zip(texts.glue(), ("cmsis_nn", "esp_nn"), strict=True):
        assert all(f"aidge_{library}_{name}(" in glue.text for name in ("conv_s8", "depthwise_s8", "fc_s8"))
    (semihosting, *_) = texts.boards()
    line = next(at for at, line in enumerate(semihosting.text.split("\n"), 1) if "0123456789abcdef" in line)
    assert semihosting.place_of(line) == "boards/semihosting_text.h"


@needs_cppcheck
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
def test_lines_that_only_options_together_print_have_no_finding_outside_the_table_and_a_fault_in_them_is_one(tmp_path):
    from tools.static_analysis.programs import misra

    together = [model for model in texts.OPTIONS if "--arena" in model and "--update" in model]
    steps, rows = (texts_of_model(name, ROOT / "examples" / path, tuple(words))[0] for name, path, *words in together)
    assert "int digits_step(" in steps.text and "int stripes_push_input(" in rows.text
    assert [sort_out(misra(code, tmp_path), deviations())[0] for code in (steps, rows)] == [[], []]
    broken = Text(rows.name, rows.place, rows.text.replace("(void)mem", "mem"), rows.core, rows.beside)
    assert {finding.rule for finding in sort_out(misra(broken, tmp_path), deviations())[0]} == {"17.7"}
