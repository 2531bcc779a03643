# SPDX-License-Identifier: MIT
"""Where the flags of a build choose slower kernels than the core has, the build says so in one line."""

from __future__ import annotations

import argparse
import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards.cores import load_core
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.library import Library, load_library
from aidge_build.contract.spec import ImplSpec
from aidge_build.graph.dtype import DType
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.cost import CostTable
from aidge_build.prepare.adaptation.cost_of_flags import _cost, _Layer, flag_notices
from aidge_build.prepare.adaptation.match import Target
from tests.models import graph

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"


def said(*words: str, model: Path = DIGITS) -> list[str]:
    """What the build says of its flags."""
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    notices = build_program(load(parser.parse_args([*words, str(model)]), "digits")).notices
    return [notice for notice in notices if "kernels of" in notice]


def test_a_core_that_may_have_what_the_flags_leave_out_is_named_with_the_flag_the_cost_and_the_help():
    (line,) = said("--cpu=cortex-m33+nodsp", "--fpu=auto")
    taken = "6 of 6 layers, 153,344 MACs, take kernels of armv7m, ref instead of faster ones of cortexm, about "
    assert line.startswith(f"-mcpu=cortex-m33+nodsp: {taken}")
    assert line.endswith("without +nodsp they take the faster kernels, if the chip has DSP instructions")
    assert "\n" not in line


def test_vectors_that_the_flags_leave_out_are_named_with_what_they_would_save():
    (line,) = said("--cpu=cortex-m55+nomve", "--fpu=auto")
    taken = "2 of 4 layers, 5,888 MACs, take kernels of cortexm instead of faster ones of helium, about "
    assert taken in line and line.count(" instructions;") == 1


def test_an_march_without_products_and_an_abi_with_16_registers_are_named():
    for cpu, flag, remedy, cost in (
        ("rv32ic_zicsr", "-march without M", "with M in -march and an ABI other than ilp32e", 100),
        ("rv32im_zba+ilp32e", "--cpu rv32im+ilp32e", "without +ilp32e", 5.2),
    ):
        (line,) = said(f"--cpu={cpu}")
        assert f", about {153_344 * cost:,.0f} instead of {153_344 * 2.3:,.0f} instructions; " in line
        assert line.startswith(f"{flag}: ") and " take kernels of ref instead of faster ones of rv32" in line
        assert line.endswith(f"{remedy} they take the faster kernels, if the chip has RV32IM and its 32 registers")


KERNEL = """
@kernel("ReLU", ImplSpec(IOSpec(dtype.float32), features={features}))
class K{number}(ExportNode): pass
"""
IMPORTS = "from aidge_build import ExportNode, ImplSpec, IOSpec, dtype, kernel\n"
LEVELS = ((), ("dsp",), ("dsp", "fpu"))
OFFERED = (*((level,) for level in LEVELS), ((), ("dsp", "fpu")), (("mve",), ("dsp",)))  # features of the kernels of a library


def test_layers_are_named_that_an_earlier_library_would_take_with_all_features_of_the_core():
    libraries = {}
    for name, kernels in itertools.product("abc", OFFERED):
        text = IMPORTS + "".join(KERNEL.format(features=frozenset(one), number=number) for number, one in enumerate(kernels))
        libraries[name, kernels] = load_library({"library.toml": f'name = "{name}"'.encode(), "kernels.py": text.encode()}, name)
    view, core, moved = graph("a = Relu(x) y = Relu(a)", inputs="float[2] x", outputs="float[2] y"), load_core("cortex-m33"), 0
    for level, *offered in list(itertools.product(LEVELS, OFFERED, OFFERED, OFFERED))[::4]:
        if not any(set(one) <= set(level) for kernels in offered for one in kernels):
            continue
        chosen, target = [libraries[pair] for pair in zip("abc", offered, strict=True)], Target(frozenset(level))
        assignment = adapt_to_backend(view, chosen, target)
        with_all = adapt_to_backend(view, chosen, Target(frozenset(LEVELS[-1])))
        taken, faster = (one.choices["Relu_0"].kernel.library for one in (assignment, with_all))
        found = flag_notices(assignment, chosen, target, core)
        words = f": 2 of 2 layers, 0 MACs, take kernels of {taken} instead of faster ones of {faster}; "
        assert (len(found) == 1 and words in found[0]) if taken != faster else found == (), (level, offered)
        assert flag_notices(assignment, chosen, target, None) == ()
        moved += taken != faster
    assert moved > 10


def test_a_build_that_uses_all_of_its_core_says_nothing():
    for words in (
        ("--cpu=cortex-m4", "--fpu=auto"),
        ("--cpu=cortex-m3",),
        ("--cpu=cortex-m0",),
        ("--cpu=cortex-m55", "--fpu=auto"),
        ("--board=stm32f7",),
        ("--board=host",),
        (),
    ):
        assert said(*words) == [], words


def test_a_core_without_an_fpu_loses_nothing_where_no_layer_wants_one():
    assert said("--cpu=cortex-m4") == [] == said("--board=stm32f7", "--fpu=none")


def test_a_named_library_is_the_users_choice():
    assert said("--cpu=cortex-m33+nodsp", "--fpu=auto", "--lib=ref") == []


def test_flags_without_an_fpu_count_for_a_board_that_has_one():
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args(["--board=stm32f7", "--fpu=none", str(DIGITS)]), "digits")
    assert "fpu" not in request.target.features and "dsp" in request.target.features
    with pytest.raises(AidgeError, match="--fpu: works only with --cpu"):
        load(parser.parse_args(["--board=stm32f7", "--fpu=auto", str(DIGITS)]), "digits")


@pytest.mark.parametrize("faster", [100, 0])
def test_the_cost_table_of_the_build_says_the_cost(faster, tmp_path):
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    words = ["--cpu=cortex-m33+nodsp", "--fpu=auto"]
    request = load(parser.parse_args([*words, str(DIGITS)]), "digits")
    costs = {"armv7m": 300, "cortexm": faster, "ref": 300}
    kernels = {kernel for library in (*request.libraries, *request.left_out) for kernel in library.kernels}
    lines = ["schema = 1", 'name = "mine"', 'version = "1"', 'unit = "instructions"']
    for library, kernel in sorted({(kernel.library, kernel.name) for kernel in kernels}):
        lines += ["[[cost]]", f'library = "{library}"', f'kernel = "{kernel}"', f"fixed = {costs[library]}"]
    (tmp_path / "costs.toml").write_text("\n".join(lines) + "\n")
    (line,) = said(*words, "--select=cost", f"--cost-table={tmp_path / 'costs.toml'}")
    taken, less = re.search(r", ([\d,]+) instead of ([\d,]+) instructions by the cost table; ", line).groups()
    count = int(re.match(r".*?(\d+) layers", line)[1])
    assert (taken, less) == (f"{300 * count:,}", f"{faster * count:,}")


@pytest.mark.parametrize(
    "kind, features, stated, cost",
    [
        ("int8", set(), {"slow": {"int8": 5}, "fast": {"int8": 0.5}}, "50 instead of 5"),
        ("int8", {"narrow"}, {"slow": {"int8": 5, "int8_narrow": 9}, "fast": {"int8": 0.5}}, "90 instead of 5"),
        ("float32", set(), {"slow": {"float32": 4, "float32_soft": 70}, "fast": {"float32": 2}}, "700 instead of 20"),
        ("float32", {"fpu"}, {"slow": {"float32": 4, "float32_soft": 70}, "fast": {"float32": 2}}, "40 instead of 20"),
        ("float32", set(), {"slow": {"float32": 4}, "fast": {"float32": 2}}, ""),
        ("float32", {"fpu"}, {"slow": {"float32": 4}, "fast": {"int8": 2}}, ""),
        ("int8", set(), {"slow": {"int8": 5}}, ""),
        ("int8", set(), {"slow": {"int8": 0}, "fast": {"int8": 3}}, ""),
        ("int8", set(), {"slow": {"int8": 5}, "fast": {"int8": 0}}, "50 instead of 0"),
    ],
)
def test_without_a_table_libraries_say_the_cost_if_they_know_both_sides(kind, features, stated, cost):
    view = SimpleNamespace(outputs=[SimpleNamespace(dtype=DType[kind])], multiply_accumulates=10)
    taken, faster = (SimpleNamespace(library=name, spec=ImplSpec(), assembly="none") for name in ("slow", "fast"))
    libraries = [Library(name, "c", "", {}, (), (), per_mac=one) for name, one in stated.items()]
    said = _cost([_Layer(view, taken, faster, frozenset())], libraries, Target(frozenset(features)), lacks_products=False)
    assert said == (f", about {cost} instructions" if cost else "")
    knows_none = Target(frozenset(features), cost_table=CostTable("t", "1", "instructions", (), ""))
    assert _cost([_Layer(view, taken, faster, frozenset())], libraries, knows_none, lacks_products=False) == said


@pytest.mark.parametrize(
    "cpu, features, flags",
    [
        ("cortex-m7", {"thumb2", "dsp"}, {"fpu": "-mfloat-abi=soft"}),
        ("cortex-m33+nofp", {"thumb2", "dsp"}, {"fpu": "-mcpu=cortex-m33+nofp"}),
        ("cortex-m3", {"thumb2"}, {}),
        ("cortex-m55+nomve", {"thumb2", "dsp", "fpu"}, {"mve": "-mcpu=cortex-m55+nomve"}),
        ("cortex-m4", {"thumb2", "fpu"}, {"dsp": "features without dsp"}),
        ("host", set(), {}),
    ],
)
def test_what_is_left_out_is_told_by_its_flag(cpu, features, flags):
    assert {feature: cause.flag for feature, cause in load_core(cpu).left_out(frozenset(features)).items()} == flags
