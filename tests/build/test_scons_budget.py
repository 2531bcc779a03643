# SPDX-License-Identifier: MIT
"""Budgets as a part of the link: what grows beyond them is no program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aidge_build import scons_toolpath
from tests.command import aidge_build
from tests.programs import build, model, needs_cross_compiler
from tests.served import scons, served

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
SCRIPT = """
import os
from aidge_build.boards import load_board
from aidge_build.run.toolchain import write_link_script
board = load_board('stm32f4')
write_link_script(board, __import__('pathlib').Path('board.ld'))
env = Environment(tools=['gcc', 'gnulink', 'aidge'], toolpath=[{tools!r}], ENV=dict(os.environ), CC='arm-none-eabi-gcc',
                  AIDGE_BOARD='stm32f4',
                  AIDGE_BUILD={command!r}, CCFLAGS=list(board.compiler_flags),
                  CPPPATH=list(board.include_folders),
                  LINKFLAGS=[*board.compiler_flags, *board.link_flags, '-T', 'board.ld'], LIBS=['m'])
main = [env.Object(os.path.basename(source) + '.o', source) for source in board.sources]
app = env.Program('app.elf', ['main.c', main, env.AidgeModel('digits', {model!r})])
env.AidgeCheck(app)
env.AidgeBudget(app, **{budget})
"""
MAIN = (
    '#include "digits.h"\nint main(void) { static int8_t in[DIGITS_INPUT_SIZE], out[DIGITS_OUTPUT_SIZE]; return '
    "digits_run(in, out); }\n"
)


def script(budget: dict) -> str:
    model = str(DIGITS / "digits.onnx")
    return SCRIPT.format(tools=scons_toolpath(), command=served("aidge_build"), model=model, budget=budget)


@pytest.fixture(scope="module")
def digits_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all budgets: model and objects are made once."""
    folder = tmp_path_factory.mktemp("budgets")
    (folder / "main.c").write_text(MAIN)
    return folder


@needs_cross_compiler
@pytest.mark.parametrize(
    "budget, message",
    [
        ({"max_stack": 2000, "max_flash": 60_000, "max_instructions": 2_000_000, "max_cycles": 3_000_000}, ""),
        ({"max_stack": 100}, "error STK01: worst stack "),
        ({"max_flash": 3_000}, "error MEM10: "),
        ({"max_instructions": 100}, "error INS01: "),
        ({"max_ms": 0.001}, "error CYC01: "),
    ],
    ids=["kept", "stack", "flash", "instructions", "time"],
)
def test_a_budget_that_is_exceeded_fails_the_target_until_it_is_kept(digits_project, budget, message):
    (digits_project / "SConstruct").write_text(script(budget))
    for _ in range(2 if "stack" in message else 1):  # the same for each
        code, printed = scons(digits_project, "app.elf")
        assert (code == 0) == (message == ""), printed
        assert message in printed
        assert (digits_project / "app.elf").exists() == (message == "")


@pytest.mark.requirement("INS01")
@needs_cross_compiler
def test_the_instructions_of_an_inference_have_no_tolerance(tmp_path):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    counted = aidge_build("run", elf, "--board", "stm32f7", "--json").json
    exact = -(-counted["run_instructions"] // counted["runs"])
    assert (
        aidge_build("run", elf, "--board", "stm32f7", "--max-instructions", exact, "--out", tmp_path / "run.json").exit_code == 0
    )
    exceeded = aidge_build("run", elf, "--board", "stm32f7", "--max-instructions", exact - 1)
    assert (
        exceeded.exit_code == 1
        and f"error INS01: {exact:,} instructions per inference, the budget is {exact - 1:,} (+1)" in exceeded.stdout
    )


@pytest.mark.requirement("INS01")
@needs_cross_compiler
def test_a_budget_without_a_counted_inference_fails(tmp_path):
    elf = build("stm32f7", "int main(void) { return 0; }", tmp_path)
    result = aidge_build("run", elf, "--board", "stm32f7", "--max-instructions", 1000)
    assert result.exit_code == 1 and "error INS01: the budget of instructions cannot be checked" in result.stdout


def test_a_budget_needs_a_check(project):
    project.sconstruct(
        "kws = env.AidgeModel('kws', 'kws.onnx')\nenv.AidgeBudget(env.Program('app.elf', ['main.c', kws]), max_flash=1)\n"
    )
    run = project.scons()
    assert run.exit_code == 2 and "AidgeBudget: write env.AidgeCheck(app.elf) before it" in run.output


@needs_cross_compiler
def test_a_plan_falsified_by_one_byte_fails_the_program_that_is_asked_for_by_name_until_it_is_right_again(digits_project):
    (digits_project / "SConstruct").write_text(script({}))
    assert scons(digits_project, "app.elf")[0] == 0
    plan = digits_project / "digits.plan.json"
    right = plan.read_text()
    fields = json.loads(right)
    plan.write_text(json.dumps({**fields, "arena_bytes": fields["arena_bytes"] + 1}))
    for _ in range(2):
        code, printed = scons(digits_project, "app.elf")
        assert code == 2 and "error MEM02: the arena of model digits claims " in printed, printed
        assert (
            not (digits_project / "app.elf").exists()
            and not json.loads((digits_project / "app.elf.check.json").read_text())["ok"]
        )
    plan.write_text(right)
    assert scons(digits_project, "app.elf")[0] == 0 and (digits_project / "app.elf").exists()


@needs_cross_compiler
@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_link_that_fails_for_want_of_memory_is_explained(digits_project, in_a_file):
    """The linker script is the user's own; there is no AidgeCheck: a model among the sources is enough. SCons puts a long command
    into a file, which is gone when the build has failed."""
    lines = script({}).partition("env.AidgeCheck")[0]
    if in_a_file:
        tempfile = "env['MAXLINELENGTH'] = 50\nenv['LINKCOM'] = '${TEMPFILE(\"' + env['LINKCOM'] + '\")}'\n"
        first, last = lines.split("app = ", 1)
        lines = f"{first}{tempfile}app = {last}"
    (digits_project / "SConstruct").write_text(lines.replace("'board.ld'], LIBS", "'small.ld'], LIBS"))
    small = aidge_build("link-script", "--board", "stm32f4", "--out", digits_project / "small.ld")
    assert small.exit_code == 0
    text = (digits_project / "small.ld").read_text()
    (digits_project / "small.ld").write_text(text.replace("LENGTH = 1048576", "LENGTH = 4096"))
    code, printed = scons(digits_project, "app.elf")
    assert code == 2 and not (digits_project / "app.elf").exists()
    assert "app.elf: error LINK_OVERFLOW: memory FLASH is too small by " in printed and " B of 4,096 B\n" in printed
    assert "       largest:     digits_" in printed and "       what helps:  " in printed
