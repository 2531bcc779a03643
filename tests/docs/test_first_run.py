# SPDX-License-Identifier: MIT
"""The first screen of the README and the cast of the documentation show what the first run prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from aidge_build.base.version import VERSION
from tests.build.checkout import scons_in
from tests.docs.blocks import blocks
from tests.docs.runners import commands, missing_line
from tests.programs import needs_cross_compiler
from tests.served import served_python
from tools.docs import first_run

ROOT = Path(__file__).resolve().parents[2]
CAST = (first_run.STATIC / first_run.CAST).read_text()
HEADER, EVENTS = first_run.read_cast(CAST)
AGAIN = "python -m tools.docs.first_run records it anew"


def test_the_cast_is_of_version_2_and_takes_half_a_minute():
    times = [seconds for seconds, _ in EVENTS]
    assert HEADER["version"] == 2 and times == sorted(times) and 25 < times[-1] < 35


def test_the_picture_shows_the_stored_cast():
    picture = (first_run.STATIC / first_run.PICTURE).read_text()
    assert picture == first_run.picture(CAST), AGAIN
    texts = ["".join(line.itertext()) for line in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [
        line if len(line) <= first_run.COLUMNS else line[: first_run.COLUMNS - 1] + "…" for line in shown().splitlines()
    ]


def shown() -> str:
    """All that the cast shows, as lines."""
    return "".join(text for _, text in EVENTS).replace("\r\n", "\n")


@needs_cross_compiler
def test_the_recorded_run_is_what_the_commands_print_now_and_a_null_build_does_nothing(tmp_path):
    run = first_run.record(tmp_path, Path(served_python()).parent)
    made = tmp_path / "demo"
    assert "output: -12 9 -35 -20 -41 -28 -19 -46 10 -19\n" in run[-1][1] and "warning:" not in run[-1][1]
    assert "AIDGE" not in scons_in(made) and "is up to date" in scons_in(made, "build/demo.elf")
    files = {Path(entry["file"]).name for entry in json.loads((made / "compile_commands.json").read_text())}
    assert files >= {"main.c", "digits.c", "digits_weights.c"}
    if HEADER["env"]["CC"] != first_run.compiler():
        pytest.skip(f"recorded with {HEADER['env']['CC']}, here is {first_run.compiler()}")
    assert first_run.cast(run, HEADER["env"]["CC"]) == CAST, AGAIN


def test_the_first_screen_of_the_readme_shows_lines_of_the_recorded_run():
    block = blocks("README.md")[0]
    recorded = dict(commands(shown()))
    typed = [(re.split(r"\s+#", command)[0], printed) for command, printed in commands(block.text)]
    assert block.line < 10 and [command for command, _ in typed[3:]] == [*recorded]
    for command, printed in typed[3:]:
        assert missing_line(printed, "\n".join(recorded[command])) is None


def test_the_page_of_fit_quotes_the_times_and_sizes_of_the_recorded_run():
    page = (ROOT / "docs" / "fit.md").read_text()
    (time,), (image, checked), (estimate,) = (
        re.findall(pattern, page)
        for pattern in (r"`([\d.]+ to [\d.]+ ms at 168 MHz)`", r"(?:says|`CHECK`) ([\d,]+) B", r"`(~[\d.]+ ms)`")
    )
    quoted = [time, f"{image} of 1M", f"FLASH        {checked} /", estimate]
    assert [text for text in quoted if text not in shown()] == []


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/howto-add.md"])
def test_the_installation_names_the_packages_of_the_tutorial_an_environment_and_the_wheel_of_this_version(page):
    (tutorial,) = (block.text for block in blocks("docs/tutorial.md") if "apt-get install" in block.text)
    packages = next(line for line in tutorial.splitlines() if "apt-get install" in line)
    (block,) = (block for block in blocks(page) if "apt-get" in block.text)
    compiler, environment, tool = block.text.replace("$ ", "").splitlines()[:3]
    assert compiler.split("  ")[0] == packages and environment == "python3 -m venv env && . env/bin/activate"
    assert tool.startswith("pip install '.[emulate]' ") and f"'aidge_build-{VERSION}-py3-none-any.whl[emulate]'" in tool
