# SPDX-License-Identifier: MIT
"""The ready files for GitHub and GitLab: their verbs have the options that they are given, and they compare two branches."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.command import aidge_build
from tests.docs.blocks import EVERYTHING
from tests.docs.runners import ENVIRONMENT

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "ci"
GITHUB = yaml.safe_load((FOLDER / "github-actions.yml").read_text())
GITLAB = yaml.safe_load((FOLDER / "gitlab-ci.yml").read_text())
STEPS = {step.get("name"): step for step in GITHUB["jobs"]["firmware"]["steps"]}
SCRIPTS = {
    "github": [STEPS[name]["run"] for name in ("Build and check", "Run on the emulated board", "Compare with the target branch")],
    "gitlab": GITLAB["firmware"]["script"],
}
VARIABLES = {"github": GITHUB["env"], "gitlab": GITLAB["firmware"]["variables"]}


def test_both_files_install_what_a_build_needs_and_build_in_one_job():
    for script in (STEPS["Tools"]["run"], "\n".join(GITLAB["firmware"]["before_script"])):
        assert {"gcc-arm-none-eabi", "libnewlib-arm-none-eabi"} <= set(
            script.split()
        ) and "aidge_build[emulate] @ $AIDGE_BUILD" in script
    assert GITHUB["permissions"]["pull-requests"] == "write" and True in GITHUB and set(GITHUB[True]) == {"push", "pull_request"}


@pytest.mark.parametrize("kind", SCRIPTS)
def test_every_verb_of_the_file_has_the_options_that_it_is_given(kind, tmp_path):
    lines = re.findall(r"aidge-build ([^\n)]*)", "\n".join(SCRIPTS[kind]))
    assert len(lines) > 4
    for line in lines:
        words = [word.replace("$ELF", str(tmp_path / "none.elf")).replace("$BOARD", "stm32f7") for word in shlex.split(line)]
        refused = aidge_build(*words[: words.index(">")] if ">" in words else words)
        assert refused.exit_code == 2 and "none.elf: cannot be read" in refused.stderr, refused.stderr


@pytest.mark.skipif(not EVERYTHING, reason="builds two firmwares for each file: ./sconsw conformance docs")
@pytest.mark.parametrize("kind", SCRIPTS)
def test_the_scripts_build_a_repository_and_compare_a_branch_with_its_target(kind, tmp_path):
    """What CI would give by its own variables is given here; a comment is not sent."""
    origin, here = tmp_path / "origin", tmp_path / "work" / "here"
    run = {"check": True, "env": {**ENVIRONMENT, "GIT_CONFIG_GLOBAL": "/dev/null"}, "capture_output": True, "text": True}
    subprocess.run(["aidge-build", "new", "reader", "--board", "stm32f7"], cwd=tmp_path, **run)
    shutil.move(tmp_path / "reader", origin)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=origin, **run)
    subprocess.run([*git, "clone", "-q", origin, here], **run)
    (here / "SConstruct").write_text((here / "SConstruct").read_text().replace("here", "reader"))
    main = here / "src" / "main.c"
    main.write_text(
        main.read_text().replace("    return 0;", '    semihosting_write0("a line that takes some bytes\\n");\n    return 0;')
    )
    base = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, **run).stdout.strip()
    given = {
        **{name: str(value) for name, value in VARIABLES[kind].items()},
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "CI_MERGE_REQUEST_IID": "1",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
    }
    done = subprocess.run(
        ["sh", "-ec", "\n".join(SCRIPTS[kind])],
        cwd=here,
        env={**run["env"], **given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    comment = (here / "comment.md").read_text()
    assert re.search(r"^\| \*\*Flash\*\* \| [\d,]+ \| [\d,]+ \| \+\d+ \|$", comment, re.MULTILINE) and "`main`" in comment
    shown = (tmp_path / "summary.md").read_text() if kind == "github" else done.stdout
    assert comment in shown
