# SPDX-License-Identifier: MIT
"""The error that is stated beside an estimate of cycles is computed from measured counts, and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards.cores import find_core, load_core
from aidge_build.prove.timing.deviation import UNKNOWN, Count, Deviation, counts_of, deviation_of, stated
from aidge_build.prove.timing.table import load_timing, table_digests, timing_of

RECORD = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.json"
CORE = 'extends = "armv7e-m"\nunicorn = "CORTEX_M4"\ntiming = "ours"\n'
COUNTS = 'source = "{}"\nchip = "{}"\ncompiler = "none"\nnumbers = "{}"\n\n[counts]\n{}\n'


def core_with(folder, *lines: str, name: str = "first", numbers: str = "", source: str = "a book", chip: str = "a chip"):
    """A core of a user's own whose estimates were compared with these counts."""
    (folder / "cores" / "timing").mkdir(parents=True, exist_ok=True)
    (folder / "cores" / "ours.toml").write_text(CORE)
    (folder / "cores" / "timing" / "ours.toml").write_text('extends = "cortex-m4"\nearly = 1\n')
    core = load_core("ours", [folder])
    if lines:
        counts = folder / "cores" / "counts" / f"ours.{name}.toml"
        counts.parent.mkdir(exist_ok=True)
        counts.write_text(COUNTS.format(source, chip, numbers or timing_of(core).digest, "\n".join(lines)))
    return core


def test_the_stated_range_is_that_of_the_counts(tmp_path):
    core = core_with(tmp_path, '"a" = [100, 90]', '"b" = [200, 202]', '"c" = [50, 50]')
    assert deviation_of(core) == Deviation(3, pytest.approx(-0.1), pytest.approx(0.01), pytest.approx(0.11 / 3))
    assert stated(core) == (
        "estimated; the core without wait states: 10.0 % below to 1.0 % above what was measured for 3 programs, 3.7 % on average"
    )


@pytest.mark.parametrize(
    "lines, said",
    [
        (('"a" = [100, 90]', '"b" = [100, 98]'), "10.0 % to 2.0 % below what"),
        (('"a" = [100, 110]', '"b" = [100, 102]'), "2.0 % to 10.0 % above what"),
        (('"a" = [100, 95]',), "5.0 % to 5.0 % below what"),
        (('"a" = [100, 90]', '"b" = [1, 1]'), "10.0 % to 0.0 % below what"),
        (('"a" = [100, 110]', '"b" = [100, 100]'), "0.0 % to 10.0 % above what"),
    ],
)
def test_an_estimate_that_is_always_too_low_or_too_high_is_called_so(tmp_path, lines, said):
    assert said in stated(core_with(tmp_path, *lines))


def test_counts_of_several_files_are_together(tmp_path):
    core_with(tmp_path, '"a" = [100, 90]')
    core = core_with(tmp_path, '"z" = [10, 11]', '"b" = [10, 10]', name="second")
    found = counts_of(core)
    assert [(each.program, each.measured, each.estimated) for each in found] == [("a", 100, 90), ("b", 10, 10), ("z", 10, 11)]
    assert found[0] == Count("a", "a book", 100, 90, "a chip")
    assert [round(count.error, 3) for count in found] == [-0.1, 0.0, 0.1]


def test_what_another_model_says_of_a_core_is_called_so(tmp_path):
    core = core_with(tmp_path, '"a loop" = [100, 103]', source="a simulator", chip="")
    assert "no chip was measured; 3.0 % to 3.0 % above what a simulator says of 1 programs" in stated(core)


def test_what_is_estimated_lies_between_the_ends_of_the_errors():
    """Measured 1,000, estimated 900 or 1,250: an estimate of 900 may stand for 720 or for 1,000."""
    found = Deviation(2, -0.1, 0.25, 0.175)
    assert found.range_of(900) == (pytest.approx(720), pytest.approx(1000))
    assert Deviation(1, -0.1, -0.05, 0.075).range_of(900) == (900, pytest.approx(1000))
    assert Deviation(1, 0.05, 0.25, 0.15).range_of(1250) == (pytest.approx(1000), 1250)


def test_a_core_without_counts_says_that_its_error_is_unknown(tmp_path):
    core = core_with(tmp_path)
    assert stated(core) == UNKNOWN and deviation_of(core) is None


@pytest.mark.parametrize("name", ["cortex-m1", "cortex-m23", "rv32imc"])
def test_a_core_without_a_table_has_no_estimate_and_no_error(name):
    assert stated(find_core(name)) == "" and deviation_of(find_core(name)) is None and deviation_of(None) is None
    assert counts_of(find_core(name)) == ()


# (programs, lowest error, highest error, mean error): bounds of what the files of counts say.
COMPARED = {
    "cortex-m0": (24, -0.011, 0.001, 0.004),
    "cortex-m0plus": (21, -0.031, 0.011, 0.013),
    "cortex-m3": (35, -0.09, 0.03, 0.015),
    "cortex-m4": (47, -0.11, 0.02, 0.02),
    "cortex-m7": (8, 0.0, 0.08, 0.05),
    "cortex-m33": (8, -0.02, 0.01, 0.01),
    "cortex-m85": (3, 0.0, 0.13, 0.05),
    "cortex-m55": (29, -0.001, 0.02, 0.01),
}


@pytest.mark.parametrize("name", COMPARED)
def test_the_cores_here_were_compared_with_public_programs(name):
    programs, lowest, highest, mean = COMPARED[name]
    found = deviation_of(find_core(name))
    assert found.counts == programs and found.mean < mean and found.lowest >= lowest and found.highest <= highest
    assert all(count.source for count in counts_of(find_core(name)))
    assert all(bool(count.chip) == (name != "cortex-m55") for count in counts_of(find_core(name)))


def test_the_extension_of_a_core_changes_no_error():
    assert deviation_of(find_core("cortex-m4+nofp")) == deviation_of(find_core("cortex-m4"))


@pytest.mark.parametrize(
    "line, numbers, reason",
    [
        ('"a" = [100]', "", "'a' has no two numbers of cycles"),
        ('"a" = [0, 5]', "", "'a' has no two numbers of cycles"),
        ('"a" = [5, "x"]', "", "'a' has no two numbers of cycles"),
        ('"a" = 5', "", "'a' has no two numbers of cycles"),
        ('"a" = [1, 2]', "0123456789ab", "was estimated with another timing table than the core has now"),
    ],
)
def test_a_file_of_counts_that_says_something_else_is_refused(tmp_path, line, numbers, reason):
    with pytest.raises(AidgeError, match=reason) as caught:
        deviation_of(core_with(tmp_path, line, numbers=numbers))
    assert caught.value.hint


def test_a_file_of_counts_has_all_keys(tmp_path):
    core = core_with(tmp_path, '"a" = [1, 2]')
    path = tmp_path / "cores" / "counts" / "ours.first.toml"
    path.write_text(path.read_text().replace('chip = "a chip"\n', ""))
    with pytest.raises(AidgeError, match="key 'chip' is missing"):
        deviation_of(core)


def test_other_tables_have_other_digests(tmp_path):
    names = (*(f"cortex-m{name}" for name in ("0", "0plus", "3", "33", "4", "55", "7", "85")), "e31", "hazard3")
    digests = list(table_digests().values())
    assert tuple(table_digests()) == names
    digests.append(load_timing("cortex-m0plus").with_multiplier(32).digest)
    assert len(set(digests)) == len(names) + 1 and all(len(digest) == 12 for digest in digests)
    assert timing_of(find_core("cortex-m4+nofp")).digest == load_timing("cortex-m4").digest


def test_the_recorded_cycles_were_estimated_with_todays_tables():
    """`./sconsw bench --update` records them again; `--check` says so, too."""
    assert json.loads(RECORD.read_text())["timing_tables"] == table_digests()
