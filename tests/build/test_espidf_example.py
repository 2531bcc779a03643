# SPDX-License-Identifier: MIT
"""A model in a project of ESP-IDF: examples/espidf, and the place of the claim, which the linker of a chip asks for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aidge_build.base.installed import cmake_folder
from tests.build.known_compiler import begin_build
from tests.programs import ROOT, needs_cross_compiler

NOTE = cmake_folder() / "aidge_note.ld"
# ESP-IDF has these two commands; the second one notes its words.
IDF = """cmake_minimum_required(VERSION 3.20)
project(app C)
function(idf_component_register)
endfunction()
function(target_linker_script target type script)
  message("SCRIPT ${target} ${type} ${script}")
endfunction()
find_package(aidge_build CONFIG REQUIRED)
aidge_add_model(model MODEL tiny.onnx CPU generic)
"""


def configured(folder: Path, target: str) -> str:
    """Returns the output of CMake about a project for a target of ESP-IDF."""
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    (folder / "tiny.onnx").touch()
    (folder / "CMakeLists.txt").write_text(IDF)
    begin_build(folder / target, "Ninja")
    words = ["-G", "Ninja", "-S", folder, "-B", folder / target, f"-DIDF_TARGET={target}", f"-Daidge_build_DIR={cmake_folder()}"]
    done = subprocess.run(["cmake", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_project_of_esp_idf_gives_the_linker_of_a_chip_the_place_of_the_claim(tmp_path):
    assert f"SCRIPT model INTERFACE {NOTE}" in configured(tmp_path, "esp32c3")
    assert "SCRIPT" not in configured(tmp_path, "linux")


@needs_cross_compiler
def test_a_linker_that_refuses_sections_without_a_place_takes_the_claim_with_the_script(tmp_path):
    (tmp_path / "claim.s").write_text('.section .aidge.note,"",%note\n.word 1\n.text\n.global _start\n_start: bx lr\n')
    own = "*(.ARM.attributes .data .bss .glue_7 .glue_7t .vfp11_veneer .v4_bx .iplt .rel.iplt .igot.plt)"
    (tmp_path / "chip.ld").write_text(f"SECTIONS {{ .text : {{ *(.text) }} /DISCARD/ : {{ {own} }} }}\n")
    words = ["arm-none-eabi-gcc", "-nostdlib", "-Wl,--orphan-handling=error", "-T", "chip.ld", "claim.s", "-o", "app.elf"]
    refused = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode != 0 and "unplaced orphan section `.aidge.note'" in refused.stderr
    subprocess.run([*words, "-T", str(NOTE)], cwd=tmp_path, check=True)
    sections = subprocess.run(["arm-none-eabi-readelf", "-SW", "app.elf"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert re.search(r"\.note\.aidge +NOTE +00000000 \w+ 000004 00 +0 ", sections), sections  # no flag A: in no image


def test_the_example_reads_its_digits_as_firmware_of_esp_idf_for_this_machine(tmp_path):
    if not os.environ.get("IDF_PATH"):
        pytest.skip("IDF_PATH names no ESP-IDF (with its Python packages on the PATH)")
    shutil.copytree(ROOT / "examples" / "digits", tmp_path / "digits")
    example = shutil.copytree(ROOT / "examples" / "espidf", tmp_path / "espidf")
    machine = {**os.environ, "IDF_TARGET": "linux", "IDF_COMPONENT_MANAGER": "0"}
    words = ["-G", "Ninja", "-B", "build", "-DIDF_TARGET=linux", "-DPYTHON_DEPS_CHECKED=1", f"-Daidge_build_DIR={cmake_folder()}"]
    for command in (["cmake", *words, "."], ["ninja", "-C", "build"]):
        done = subprocess.run(command, cwd=example, env=machine, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    firmware = subprocess.Popen([example / "build" / "digits.elf"], stdout=subprocess.PIPE, text=True)
    try:  # it never ends: the scheduler goes on
        assert any("450 images, 445 correct" in line for line in firmware.stdout)
    finally:
        firmware.kill()
