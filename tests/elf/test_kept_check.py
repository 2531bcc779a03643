# SPDX-License-Identifier: MIT
"""A check that was made before counts for the same program alone: whatever changes is checked anew."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from aidge_build.base.installed import board_folder
from aidge_build.cli import check, kept_check, main
from tests.many_functions import BOARD, linked
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked(tmp_path_factory.mktemp("built"), 6).parent


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(built, folder)
    (folder / "boards").mkdir()
    text = (board_folder() / f"{BOARD}.toml").read_text()
    (folder / "boards" / "own.toml").write_text(text)
    (folder / "app.map").write_text("no map of this program\n")
    return folder


def words(project: Path, *more: str) -> list[str]:
    plan, objects = project / "model.plan.json", sorted(map(str, (project / "objects").glob("*.o")))
    named = ["--board", BOARD, "--board-path", str(project / "boards"), "--plan", str(plan), "--out", str(project / "app.json")]
    return ["check", str(project / "app.elf"), *named, *more, "--objects", *objects]


def patched(path: Path, before: bytes, after: bytes) -> None:
    content = path.read_bytes()
    assert content.count(before) >= 1 and len(before) == len(after)
    path.write_bytes(content.replace(before, after, 1))


def objcopy(project: Path, *options: str) -> None:
    subprocess.run(["arm-none-eabi-objcopy", *options, str(project / "app.elf")], check=True, capture_output=True)


def section(project: Path, name: str) -> bytes:
    objcopy(project, f"--dump-section={name}={project / 'dumped'}")
    return (project / "dumped").read_bytes()


def change_data(project: Path) -> None:
    content = section(project, ".text")[-32:]
    patched(project / "app.elf", content, content[:-1] + bytes([content[-1] ^ 1]))


def change_vectors(project: Path) -> None:
    content = section(project, ".text")[:16]
    patched(project / "app.elf", content, content[:8] + bytes([content[8] ^ 4]) + content[9:])


CHANGES = {
    "a data byte": change_data,
    "the vector table": change_vectors,
    "the name of a symbol": lambda project: objcopy(project, "--redefine-sym=f3=g3"),
    "the note": lambda project: patched(project / "app.elf", b'"arena_bytes":', b'"arena_bytez":'),
    "the address of a section": lambda project: objcopy(project, "--change-section-lma=.text+16"),
    "a plan": lambda project: patched(project / "model.plan.json", b'"arena_bytes"', b'"Arena_bytes"'),
    "a board": lambda project: (project / "boards" / "own.toml").write_text("cpu = 'cortex-m3'\n"),
    "an object": lambda project: patched(project / "objects" / "1_model.o", b"model_run", b"model_ruN"),
    "the map": lambda project: (project / "app.map").write_text("another\n"),
    "a symbol that is stripped": lambda project: objcopy(project, "--strip-symbol=f4"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_that_changes_is_answered_from_before(project: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(words(project)) == 0
    CHANGES[change](project)
    again = []
    monkeypatch.setattr(check, "_checked", lambda *given: again.append(given) or check.Outcome(["checked"]))
    main(words(project))
    assert again, change


def test_neither_other_words_nor_another_version_are_answered_from_before(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    assert main(words(project)) == 0
    assert main(words(project, "--max-stack", "8")) == 1 and "STK01" in capsys.readouterr().out
    assert main(words(project)) == 0
    monkeypatch.setattr(kept_check, "VERSION", "9.9")
    monkeypatch.setattr(check, "_checked", lambda *given: check.Outcome(["checked anew"]))
    assert main(words(project)) == 0 and "checked anew" in capsys.readouterr().out


def test_the_same_program_is_answered_with_the_same_lines_and_file_in_any_folder(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    assert main(words(project)) == 0
    first, written = capsys.readouterr().out, (project / "app.json").read_bytes()
    shutil.copytree(project, tmp_path / "moved")
    monkeypatch.setattr(check, "_checked", lambda *given: pytest.fail("it was checked again"))
    assert main(words(project)) == 0 and capsys.readouterr().out == first
    assert main(words(tmp_path / "moved")) == 0 and capsys.readouterr().out == first.replace(
        str(project), str(tmp_path / "moved")
    )
    assert (tmp_path / "moved" / "app.json").read_bytes() == written == (project / "app.json").read_bytes()


@pytest.mark.parametrize("key, value", [("ok", False), ("arena_bytes", 1), ("schema", 0)])
def test_an_answer_that_somebody_changed_is_none(project: Path, key: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(words(project)) == 0
    answer = json.loads((project / "app.json").read_text())
    (project / "app.json").write_text(json.dumps({**answer, key: value}))
    again = []
    monkeypatch.setattr(check, "_checked", lambda *given: again.append(given) or check.Outcome(["checked"]))
    main(words(project))
    assert again
