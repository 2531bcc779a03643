# SPDX-License-Identifier: MIT
"""examples/cubemx: STM32CubeMX generates code again, and the lines of the model stay.

CubeMX writes each file again but CMakeLists.txt in the project's folder, and keeps the text between USER CODE BEGIN and
USER CODE END."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aidge_build.base.installed import cmake_folder
from tests.command import aidge_build
from tests.programs import ROOT, needs_cross_compiler

EXAMPLE = ROOT / "examples" / "cubemx"
KEPT = {"CMakeLists.txt", "README.md"}
BUILT = "build"  # by somebody who tried the example
FILES = [path for path in sorted(EXAMPLE.rglob("*")) if path.is_file() and path.relative_to(EXAMPLE).parts[0] != BUILT]
GENERATED = [path for path in FILES if str(path.relative_to(EXAMPLE)) not in KEPT]
BLOCK = re.compile(r"(/\* USER CODE BEGIN (\w+) \*/\n)(.*?)([ ]*/\* USER CODE END \2 \*/)", re.DOTALL)
OF_THE_MODEL = re.compile(r"aidge|model|digits|test_images|classify|send", re.IGNORECASE)
# A project to which somebody added a peripheral.
ADDED = (
    ("static void MX_USART2_UART_Init(void);\n", "static void MX_USART2_UART_Init(void);\nstatic void MX_DMA_Init(void);\n"),
    ("    MX_USART2_UART_Init();\n", "    MX_DMA_Init();\n    MX_USART2_UART_Init();\n"),
    ("/* USER CODE BEGIN 4 */", "static void MX_DMA_Init(void)\n{\n    RCC_AHB1ENR |= 0x200000;\n}\n\n/* USER CODE BEGIN 4 */"),
)


def without_user_code(text: str) -> str:
    """A file as CubeMX writes it for a project of its own."""
    return BLOCK.sub(r"\1\4", text)


def generated_again(old: str, fresh: str) -> str:
    """The fresh file with the user's text of the old one."""
    texts = {name: text for _, name, text, _ in BLOCK.findall(old)}
    return BLOCK.sub(lambda block: block[1] + texts[block[2]] + block[4], fresh)


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: str(path.relative_to(EXAMPLE)))
def test_outside_of_user_code_no_generated_file_mentions_the_model(path):
    assert not OF_THE_MODEL.findall(without_user_code(path.read_text()))


@needs_cross_compiler
def test_a_project_that_was_generated_again_keeps_the_model_and_reads_its_digits(tmp_path):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    shutil.copytree(ROOT / "examples" / "digits", tmp_path / "digits")
    project = Path(shutil.copytree(EXAMPLE, tmp_path / "cubemx", ignore=shutil.ignore_patterns(BUILT)))
    main = project / "Core" / "Src" / "main.c"
    old = main.read_text()
    fresh = without_user_code(old)
    for where, new in ADDED:
        assert fresh.count(where) == 1
        fresh = fresh.replace(where, new)
    assert "digits_run" not in fresh
    main.write_text(generated_again(old, fresh))
    assert BLOCK.findall(main.read_text()) == BLOCK.findall(old) and "MX_DMA_Init" in main.read_text()

    for words in (["--preset", "Release", f"-Daidge_build_DIR={cmake_folder()}"], ["--build", "--preset", "Release"]):
        done = subprocess.run(["cmake", *words], cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "arena digits   1,056 B = plan" in done.stdout and "reserved by _Min_Stack_Size" in done.stdout
    elf = project / "build" / "Release" / "digits.elf"
    ran = aidge_build("run", elf, "--board", "stm32f446", "--peripherals", "--until", "wait_for_interrupt")
    assert ran.exit_code == 0 and "serial: 450 images, 445 correct\n" in ran.stdout, ran.stdout + ran.stderr
