# SPDX-License-Identifier: MIT
"""What an earlier version left in the field is read for ever: tools/release_artefacts.py made each folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy
import pytest
from aidge_build.compile import build_program
from aidge_build.elf import read_claims, read_image
from aidge_build.emit.blob import read_blob
from aidge_build.reference.sequence import run_in_order

from aidge_build.boards import load_board
from tests.command import aidge_build
from tests.compiled import request_of
from tests.programs import needs_cross_compiler
from tools.release_artefacts import (
    BLOCK,
    BOARD,
    CASES,
    INPUTS,
    MODEL,
    NAME,
    RETRAINED,
    api,
    header_names,
    keys_of,
    run_json,
    verbs_of,
)

FOLDER = Path(__file__).parent
OTHER_KERNELS = ("0.2.0",)  # blocks of weights for their firmware are made by these versions themselves
RELEASES = sorted(path.name for path in FOLDER.iterdir() if (path / "api.json").is_file())


@pytest.fixture(scope="module", params=RELEASES)
def release(request, tmp_path_factory) -> Path:
    """A copy, for verbs write beside what they read."""
    return Path(shutil.copytree(FOLDER / request.param, tmp_path_factory.mktemp("release") / request.param))


def test_there_is_a_release():
    assert "0.2.0" in RELEASES


@pytest.mark.requirement("G20")
def test_the_memory_of_a_released_program_is_proved_as_it_was(release):
    for case in CASES:
        stored, now = (json.loads((release / case / "check.json").read_text()), checked(release / case))
        assert now["ok"] and [model["arena_bytes"] for model in now["models"]] == [
            model["arena_bytes"] for model in stored["models"]
        ]
        assert [one for one in now["findings"] if one["severity"] == "error"] == []


def checked(folder: Path) -> dict:
    return run_json(verbs_of(folder.name)["check"], folder)


def test_a_damaged_byte_of_released_weights_is_found(release):
    """The digests of constants are compared, not only read."""
    folder = release / "plain"
    image, data = read_image(folder / "app.elf"), bytearray((folder / "app.elf").read_bytes())
    (claim,) = read_claims(image)
    symbol = image.symbol(claim.weights[0])
    assert symbol is not None
    data[data.index(image.content(symbol))] ^= 1
    (folder / "broken.elf").write_bytes(data)
    done = aidge_build("check", folder / "broken.elf", "--board", BOARD, "--json")
    assert done.exit_code == 1 and "MEM14" in {one["code"] for one in done.json["findings"]}


@needs_cross_compiler
def test_a_dump_of_released_firmware_is_replayed(release):
    replayed = run_json(verbs_of("record")["verify"], release / "record")
    assert len(replayed["replay"]["inferences"]) == 2 and replayed["replay"]["departures"] == []
    assert replayed["differing_values"] == 0


@pytest.mark.requirement("G20")
def test_released_firmware_gets_new_weights_and_computes_with_them(release):
    folder = release / "update"
    stored = read_blob((folder / BLOCK).read_bytes(), BLOCK)
    if release.name in OTHER_KERNELS:
        assert refusal_of_weights(folder)["hint"].endswith(
            f"pip install aidge-build=={release.name}, and make the weights with that"
        )
    else:
        (folder / BLOCK).unlink()
        run_json(verbs_of("update")["weights"], folder)
    made = read_blob((folder / BLOCK).read_bytes(), BLOCK)
    assert (made.layout, made.size_bytes) == (stored.layout, stored.size_bytes)
    run_json(verbs_of("update")["run"], folder)
    assert numpy.array_equal(numpy.fromfile(folder / "output.bin", numpy.int8), meant(release, RETRAINED))


def refusal_of_weights(folder: Path) -> dict:
    """The error of `weights` for firmware whose kernels this version has no more."""
    with pytest.raises(RuntimeError, match="exit code 1: ") as caught:
        run_json(verbs_of("update")["weights"], folder)
    error = json.loads(str(caught.value).partition("exit code 1: ")[2])["error"]
    assert error["code"] == "WEIGHTS"
    return error


def meant(release: Path, model: str) -> numpy.ndarray:
    """The outputs of a model for the stored inputs, by the numpy backend."""
    program = build_program(request_of((release / model).read_bytes(), model, load_board("host")))
    vectors = {program.view.given[0]: numpy.load(release / INPUTS)["x"]}
    return run_in_order(program.view, vectors)[program.view.handed_out[0]].reshape(-1)


def test_released_firmware_computes_what_the_model_means(release):
    run_json(verbs_of("plain")["run"], release / "plain")
    assert numpy.array_equal(numpy.fromfile(release / "plain/output.bin", numpy.int8), meant(release, MODEL))


@needs_cross_compiler
@pytest.mark.parametrize("verb", ["check", "explain", "fit", "plan", "report", "run", "verify", "weights"])
def test_no_key_of_the_json_of_a_verb_is_gone(release, verb):
    """Later versions add keys, and leave those that are there."""
    case = "update" if verb == "weights" else "plain"
    if verb == "weights" and release.name in OTHER_KERNELS:
        pytest.skip("this version has other kernels, and makes no block for the firmware")
    now = run_json(verbs_of(case)[verb], release / case)
    gone = set(keys_of(json.loads((release / case / f"{verb}.json").read_text()))) - set(keys_of(now))
    assert not gone


@pytest.mark.parametrize("case", CASES)
def test_no_key_of_a_plan_and_no_name_of_a_header_is_gone(release, case, tmp_path):
    run_json(["compile", str(release / MODEL), "--board", BOARD, "--out", str(tmp_path), *CASES[case]], release)
    for name, listed in ((f"{NAME}.plan.json", lambda text: keys_of(json.loads(text))), (f"{NAME}.h", header_names)):
        before, now = ((folder / name).read_text() for folder in (release / case, tmp_path))
        assert not set(listed(before)) - set(listed(now)), name


@pytest.fixture(scope="module")
def interfaces() -> dict:
    return api()


def test_nothing_of_the_interfaces_is_gone(release, interfaces):
    before = json.loads((release / "api.json").read_text())
    gone = []
    for name, stored in before.items():
        if isinstance(stored, list):
            gone += [f"{name}: {one}" for one in stored if one not in interfaces[name]]
            continue
        for key, values in stored.items():
            now = interfaces[name].get(key, [])
            gone += [f"{name} {key}: {one}" for one in ([values] if isinstance(values, str) else values) if one not in now]
    assert gone == []
