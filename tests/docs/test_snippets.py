# SPDX-License-Identifier: MIT
"""Every command and snippet of README and docs does what the page says; `./sconsw conformance docs` runs the slow ones, too."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.docs import builds
from tests.docs.blocks import EVERYTHING, Block, blocks, pages
from tests.docs.c_snippets import check_c
from tests.docs.prepared import PREPARED
from tests.docs.project import make_project
from tests.docs.runners import RUNNERS, Session, missing_line

EVERY = [block for page in pages() for block in blocks(page)]
C = [block for block in EVERY if block.language == "c" and not block.is_left_out and not block.is_file]
CMAKE = [block for block in EVERY if block.language == "cmake" and not block.is_left_out and (EVERYTHING or not block.is_slow)]
SCONS = [block for block in EVERY if builds.is_for_scons(block) and not block.is_left_out and not block.is_file]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return make_project(tmp_path_factory.mktemp("project") / "project", linked=EVERYTHING)


def test_every_block_is_run_or_says_why_not():
    known = {*RUNNERS, "c", "cmake"}
    silent = [block.where for block in EVERY if not (block.language in known or block.is_left_out or block.is_file)]
    assert silent == [] and len(EVERY) > 80


def runs_in_order(page: str) -> list[Block]:
    """The blocks of a page that share its project, without those that others of these tests take."""
    taken = {*C, *SCONS}
    wanted = [block for block in blocks(page) if not block.is_left_out and block.language != "cmake" and block not in taken]
    return [block for block in wanted if EVERYTHING or not block.is_slow]


@pytest.mark.parametrize("page", [page for page in pages() if runs_in_order(page)])
def test_commands_and_python_of_the_page_do_what_it_says(page, project, tmp_path):
    session = Session(shutil.copytree(project, tmp_path / "project"))
    PREPARED.get(page, lambda session: None)(session)
    for block in runs_in_order(page):
        session.run(block)


@pytest.mark.parametrize("block", C, ids=lambda block: block.where)
def test_the_c_of_the_page_compiles_with_the_header_that_it_is_written_for(block, project):
    check_c(project, block)


def test_scons_understands_the_lines_for_it(project, tmp_path):
    printed = builds.read_by_scons(project, tmp_path / "scons", SCONS)
    generating = [builds.folder_of(block) for block in SCONS if "AidgeModel" in block.text or re.search(r"\(app\b", block.text)]
    silent = [folder for folder in generating if not re.search(f"^AIDGE .* {folder}/", printed, re.MULTILINE)]
    assert len(generating) > 8 and silent == []


@pytest.mark.parametrize("block", CMAKE, ids=lambda block: block.where)
def test_cmake_understands_the_lines_for_it(block, project, tmp_path):
    builds.configure_by_cmake(project, tmp_path / "cmake", block)


FAULTS = {
    "console": ("$ echo one; echo two\ntwo\none\n", "does not print 'one' there"),
    "sh": ("true\nfalse # so it goes\n", "'false # so it goes' ends with 1"),
    "python": ("x = 1\nassert x == 2\n", "AssertionError|docs/a.md:7"),
    "toml": ("[a\n", "TOMLDecodeError"),
}


@pytest.mark.parametrize("language", FAULTS)
def test_a_block_that_does_something_else_fails_with_its_place(language, tmp_path):
    text, reason = FAULTS[language]
    with pytest.raises(AssertionError, match=reason) as caught:
        Session(tmp_path).run(Block("docs/a.md", 7, language, text))
    assert str(caught.value).startswith("docs/a.md:7: ")


def test_an_output_may_leave_out_lines_and_words_but_no_order_and_no_number():
    printed = "first  line\n12 bytes in all\nlast\n"
    assert (
        missing_line(["first line", "12 bytes ...", "last"], printed) is None and missing_line(["...", "last"], printed) is None
    )
    assert missing_line(["13 bytes in all"], printed) == "13 bytes in all" and missing_line(["12.5 bytes in all"], printed)
    assert missing_line(["13 bytes in all"], printed, 8) is None and missing_line(["13 bytes in all"], printed, 7)
    assert missing_line(["13 bites in all"], printed, 8) == "13 bites in all"
    assert missing_line(["last", "first line"], printed) == "first line" and missing_line(["last", "last"], printed) == "last"


def test_the_words_above_a_block_say_how_it_is_run():
    page = "<!-- run: slow file=a.py -->\n```python\nx\n```\n\n<!-- not run: a picture -->\n```text\ny\n```\n```sh\nz\n```\n"
    first, second, third = blocks("docs/a.md", page)
    assert first.words == {"slow": "", "file": "a.py"} and first.is_slow and first.is_file and first.line == 2
    assert second.is_left_out and not second.is_slow and third.mark == "" and third.text == "z\n"


def test_a_statement_takes_the_place_of_the_one_with_its_name(tmp_path):
    (tmp_path / "SConstruct").write_text("a = [\n    1,\n]\nb = a\n")
    Session(tmp_path).run(Block("docs/a.md", 1, "python", "a = [\n    2\n]\nprint(b)\n", "run: replace=SConstruct"))
    assert (tmp_path / "SConstruct").read_text() == "a = [\n    2\n]\nb = a\nprint(b)\n"
    with pytest.raises(AssertionError, match="has no statement 'c = ...'"):
        Session(tmp_path).run(Block("docs/a.md", 1, "python", "c = 1\n", "run: replace=SConstruct"))
