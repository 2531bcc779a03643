# SPDX-License-Identifier: MIT
"""The error of an estimate is computed from the files that boards sent in, and from nothing else."""

from __future__ import annotations

import json

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.boards.cores import find_core
from aidge_build.prove.calibrations import FOLDER, Calibration, known_calibrations, read_calibration, stated_error, validation_of
from aidge_build.prove.timing.deviation import stated


def document(**changes) -> dict:
    layers = [
        {"cycles_estimated": 200, "cycles_measured": 210},
        {"cycles_estimated": 100, "cycles_measured": 98},
        {"cycles_estimated": None, "cycles_measured": 98},
        {"cycles_estimated": 100, "cycles_measured": None},
    ]
    return {"schema": 1, "board": "b", "cpu": "cortex-m4", "counter": "CYCCNT", "models": [{"layers": layers}], **changes}


def stored(folder, **changes):
    path = folder / "one.json"
    path.write_text(json.dumps(document(**changes)))
    return path


def test_the_range_is_that_of_the_layers_that_have_both_counts(tmp_path):
    found = read_calibration(stored(tmp_path))
    assert found == Calibration("b", "cortex-m4", ((200, 210), (100, 98)))
    assert stated_error("cortex-m4", [found]) == "measured on b: -2.0 to +5.0 % of the estimate in 2 layers"


def test_boards_of_other_cores_say_nothing_and_those_without_an_extension_do(tmp_path):
    found = read_calibration(stored(tmp_path, cpu="cortex-m33"))
    assert stated_error("cortex-m4", [found]) == "no board was measured"
    assert stated_error("cortex-m33+nodsp", [found]).startswith("measured on b: ")
    other = Calibration("a", "cortex-m33+nodsp", ((100, 130),))
    assert stated_error("cortex-m33", [found, other]) == "measured on a, b: -2.0 to +30.0 % of the estimate in 3 layers"


def test_files_of_a_folder_are_read_and_what_comes_with_the_tool_is_what_is_said(tmp_path):
    stored(tmp_path)
    assert [found.board for found in known_calibrations(tmp_path)] == ["b"]
    core = find_core("cortex-m4")
    own = known_calibrations()
    assert len(own) == len(list((board_folder() / FOLDER).glob("*.json")))
    assert validation_of(core) == f"{stated(core)}; {stated_error('cortex-m4', own)}"
    assert validation_of(core, ()) == f"{stated(core)}; no board was measured"
    assert validation_of(find_core("cortex-m23")) == validation_of(None) == ""


@pytest.mark.requirement("CALIBRATIONS")
@pytest.mark.parametrize(
    "changes, says",
    [
        ({"schema": 2}, "schema 2, this version reads 1"),
        ({"models": [{"layers": [{"cycles_estimated": 5, "cycles_measured": -5}]}]}, "a count of cycles is negative"),
        ({"models": [{}]}, "layers"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, changes, says):
    with pytest.raises(AidgeError, match=says) as raised:
        read_calibration(stored(tmp_path, **changes))
    assert raised.value.code == "CALIBRATIONS"
