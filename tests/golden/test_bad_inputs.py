# SPDX-License-Identifier: MIT
"""The catalogue of bad inputs: what each gets, word by word, and that nothing else happens.

AIDGE_STRESS=1 runs each in a process of its own with a gigabyte, and looks with strace at the files that a sample writes.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest

from tests import bad_files, bad_graphs
from tests.command import aidge_build

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS, MOST_BYTES = 10, 1 << 30
CASES = bad_files.CASES
assert bad_graphs.of  # whose cases are among them
NUMBERS = range(1, 77)
# Cases that are tests of their own.
ELSEWHERE = {
    4: ("tests/errors/test_bad_models.py", "test_flipped_bits_end_in_a_sentence_or_a_graph"),
    45: ("tests/build/test_scons_dependencies.py", "test_changed_external_weights_regenerate"),
}
STRESS = "AIDGE_STRESS" in os.environ


def files_in(folder: Path) -> dict[str, bytes | str]:
    """What lies in a folder beside the outputs; links and large files by what they say of themselves."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20
        else f"{path.lstat().st_mode} {path.lstat().st_size}"
        for path in sorted(folder.rglob("*"))
        if not path.relative_to(folder).parts[0].startswith("out")
    }


def outputs_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.glob("out*/*"))}


def made(title: str, folder: Path) -> list[tuple[str, ...]]:
    folder.mkdir()
    return list(CASES[title](folder) or [bad_files.COMPILE])


def shown(words: tuple[str, ...], code: int, lines: str) -> str:
    what = next((word for word in words if word.endswith(".onnx")), "")
    return "".join(f"{what}: {code}: {line}\n" for line in lines.splitlines()) or f"{what}: {code}\n"


def test_every_number_of_the_catalogue_has_a_case():
    numbers = {int(title[:2]) for title in CASES}
    assert numbers | ELSEWHERE.keys() == set(NUMBERS) and not numbers & ELSEWHERE.keys()
    for path, name in ELSEWHERE.values():
        assert f"def {name}(" in (ROOT / path).read_text()


@pytest.mark.requirement("G15")
def test_each_bad_input_gets_its_words_and_nothing_else_happens(golden, tmp_path, monkeypatch):
    text, sources = [], []
    for title in sorted(CASES):
        folder = tmp_path / re.sub(r"\W+", "_", title)
        commands = made(title, folder)
        monkeypatch.chdir(folder)
        before, start = files_in(folder), time.process_time()
        text.append(f"# {title}\n")
        for words in commands:
            written = outputs_in(folder)
            result = aidge_build(*words)
            text.append(shown(words, result.exit_code, result.stdout + result.stderr))
            assert result.exit_code in (0, 2), (title, result)
            if result.exit_code == 2:
                assert result.stdout == "" and len(result.stderr.splitlines()) == 1 and ". Hint: " in result.stderr, title
                assert outputs_in(folder) == written, title
                assert "Traceback" not in result.stderr and (result.stderr[:-1].isprintable()), title
        assert files_in(folder) == before, title
        assert time.process_time() - start < MOST_SECONDS, title
        sources += sorted(folder.glob("out*/*.c"))
        for path in folder.glob("out*/*"):
            assert path.is_file() and re.fullmatch(r"[A-Za-z0-9_.]+", path.name), path
        monkeypatch.chdir(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(re.sub(r"\W+", "_", title) for title in CASES)
    same = [(tmp_path / "75_one_model_by_two_names" / f"out_{name}" / "net.c").read_bytes() for name in ("one", "two")]
    assert same[0] == same[1]
    told = "".join(text)
    for newest in (onnx.defs.onnx_opset_version(), onnx.IR_VERSION):  # of the onnx that is installed
        told = re.sub(rf"\b(6|3) to {newest} are\b", r"\1 to NEWEST are", told)
    golden("bad_inputs", {"messages.txt": told.encode()})
    strict = ["-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    assert len(sources) > 30
    done = subprocess.run(["cc", *strict, *map(str, sources)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


COMMAND = "import sys; from aidge_build.cli import main; sys.exit(main())"


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))


@pytest.mark.skipif(not STRESS, reason="a process for each: AIDGE_STRESS=1")
@pytest.mark.parametrize("title", sorted(CASES))
def test_each_bad_input_costs_less_than_ten_seconds_and_a_gigabyte(title, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    for words in made(title, tmp_path / "case"):
        command = [sys.executable, "-c", COMMAND, *words]
        done = subprocess.run(command, cwd=tmp_path / "case", env=environment, preexec_fn=limited, capture_output=True, text=True)
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done


SAMPLE = sorted(CASES)[::4]


@pytest.mark.requirement("G15")
@pytest.mark.skipif(not STRESS, reason="a process for each, traced: AIDGE_STRESS=1")
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("title", SAMPLE)
def test_no_file_but_those_of_the_output_is_written_and_none_outside_the_model_s_folder_is_read(title, tmp_path):
    """As the system sees it: whatever is opened for writing, made, renamed or removed lies in the folder of outputs."""
    folder, trace = tmp_path / "case", tmp_path / "trace"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    for words in made(title, folder):
        traced = [
            "strace",
            "-f",
            "-qq",
            "-s",
            "4096",
            "-e",
            "trace=file",
            "-o",
            str(trace),
            sys.executable,
            "-c",
            COMMAND,
            *words,
        ]
        subprocess.run(traced, cwd=folder, env=environment, capture_output=True, check=False)
        for line in trace.read_text(errors="replace").splitlines():
            call = re.search(r'(\w+)\((?:AT_FDCWD, )?"([^"]*)"(.*)', line)
            if call is None or " = -1 " in line:
                continue
            path = (folder / call[2]).resolve()
            is_write = call[1] in ("mkdir", "rename", "unlink", "link", "symlink", "creat", "truncate", "mkdirat", "unlinkat")
            is_write |= call[1] in ("open", "openat") and bool(re.search(r"O_(WRONLY|RDWR|CREAT)", call[3]))
            if is_write and path != Path("/dev/null"):
                assert path.relative_to(folder.resolve()).parts[0].startswith("out"), line
            is_read = call[1] in ("open", "openat") and "secret" in call[2]
            assert not is_read, line
