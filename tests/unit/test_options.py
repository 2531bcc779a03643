# SPDX-License-Identifier: MIT
"""One table of options: what is written from it is fresh, and every verb and generated text follows it."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import re
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.options import FILES, MODEL, QUANTIZATION, TABLE, add_options
from aidge_build.base.options.option import CMAKE, SCONS, Option
from aidge_build.base.options.texts import SCONS_TOOL, with_scons_region
from aidge_build.base.options.variables import VARIABLES
from aidge_build.build.inputs import UNNAMED_CONTRACT, add_model_arguments
from aidge_build.build.option_values import scheme_of
from aidge_build.cli.options import written_texts
from aidge_build.cli.verbs import MODULES
from aidge_build.plan.options import Options
from aidge_build.prepare.quantization import Scheme
from tests.command import aidge_build

ROOT = Path(__file__).resolve().parents[2]
# Of what code depends on: `verify` sets the one, `load` reads the others.
NOT_CHOSEN = {
    "trace",
    "cost_table",
    "ram_budget",
    "max_step",
    "record",
    "dma_line",
    "constants_in",
    "weights_version",
    "monitor_ranges",
}


@pytest.mark.parametrize("name", written_texts(ROOT))
def test_what_is_written_from_the_table_is_fresh(name):
    assert (ROOT / name).read_text() == written_texts(ROOT)[name], "write it anew: aidge-build list options --update ."


def test_the_update_of_a_checkout_makes_it_fresh(tmp_path):
    fresh = written_texts(ROOT)
    stale = re.sub(r'^    "optimize".*\n', "", fresh[SCONS_TOOL], flags=re.MULTILINE)
    assert stale != fresh[SCONS_TOOL]
    (tmp_path / SCONS_TOOL).parent.mkdir(parents=True)
    (tmp_path / SCONS_TOOL).write_text(stale)
    assert aidge_build("options", "--update", tmp_path).exit_code == 0
    assert {name: (tmp_path / name).read_text() for name in fresh} == fresh


def test_a_tool_without_the_region_is_refused_with_its_marks():
    with pytest.raises(AidgeError, match="has no region <options>"):
        with_scons_region("OPTIONS = {}\n")


def test_every_option_of_a_model_reaches_the_request_by_its_own_name():
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    given = vars(parser.parse_args(["m.onnx"]))
    assert set(given) == {"model", *(option.argument for option in MODEL.options)}
    fields = {field.name: field.default for field in dataclasses.fields(Options) if field.name not in NOT_CHOSEN}
    choices = {option.argument: option.default for option in MODEL.options if option.values and option not in QUANTIZATION}
    assert fields == choices | {"rounding": UNNAMED_CONTRACT}


def test_every_option_of_quantization_reaches_the_scheme_and_their_defaults_are_its_defaults():
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    assert scheme_of(parser.parse_args(["m.onnx"])) == Scheme()
    words = [
        f"--{option.name}={option.values[0] if option.values[-1] == option.default else option.values[-1]}"
        for option in QUANTIZATION
        if option.values
    ]
    words = ["--layer-types=a=b=int16", "--percentile=99.5", *(word.replace("=off", "=on") for word in words)]
    assert scheme_of(parser.parse_args(["m.onnx", *words])) == Scheme(
        activations="symmetric",
        calibration="entropy",
        equalize=True,
        correct_bias=True,
        round_weights=True,
        layers={"a=b": "int16"},
        io_type="float32",
        io_layout="nhwc",
        percentile=99.5,
    )


def test_the_default_of_a_choice_is_one_of_its_values():
    choices = [option for group in TABLE for option in group.options if option.values]
    assert choices and all(option.default in option.values for option in choices if option.name != "rounding")


def test_names_are_unique_in_every_front_end():
    for group in TABLE:
        for front_end in (SCONS, CMAKE):
            names = [option.name_in(front_end) for option in (*FILES, *group.options) if option.name_in(front_end)]
            assert len(set(names)) == len(names)


def test_of_alternatives_one_is_accepted_and_a_value_that_is_none_is_refused(capsys):
    parser = argparse.ArgumentParser()
    a, b = Option("a-file", "a", "folders", alternatives="x"), Option("b", "b", values=("c", "d"), default="c", alternatives="x")
    add_options(parser, (a, b))
    assert vars(parser.parse_args(["--a-file", "f", "--a-file", "g"])) == {"a_file": [Path("f"), Path("g")], "b": "c"}
    for words in (["--a-file=f", "--b=d"], ["--b=e"]):
        with pytest.raises(SystemExit):
            parser.parse_args(words)


def test_no_verb_repeats_an_option_of_the_table_by_hand():
    """An option of the same name that a verb adds itself would be a second place for its meaning."""
    names = {f"--{option.name}" for option in MODEL.options}
    own = {}
    for verb in MODULES:
        tree = ast.parse((ROOT / f"aidge_build/cli/{verb}.py").read_text())
        calls = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"
        ]
        words = {argument.value for call in calls for argument in call.args if isinstance(argument, ast.Constant)}
        if words & names:
            own[verb] = words & names
    # The board of a linked program, of counts or of a new project is not the one that a model is generated for, and `fit` asks
    # several; `run` feeds files, `bench` and `options` write their pages anew, and `quantize` must have samples.
    others = {verb: {"--board"} for verb in ("calibrate", "flash", "new", "link_script", "conformance", "fit", "sweep")}
    others |= {"bench": {"--board", "--update"}, "options": {"--update"}, "quantize": {"--quantize"}}
    assert own == {"run": {"--board", "--input", "--output"}, **others}


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_a_setting_is_read_by_the_one_that_the_page_says(variable):
    files = {
        "SCons environment": [ROOT / SCONS_TOOL],
        "CMake": [ROOT / "aidge_build/build/cmake/aidge_build-config.cmake"],
        "GNU make": [ROOT / "integrations/make/aidge.mk"],
        "process": [*(ROOT / "aidge_build").rglob("*.py")],
    }
    assert any(re.search(rf"\b{variable.name}\b", path.read_text()) for path in files[variable.where])
