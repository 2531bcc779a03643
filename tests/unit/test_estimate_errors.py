# SPDX-License-Identifier: MIT
"""The error that is stated beside an estimate of cycles is computed from measured counts, and from nothing else."""

from __future__ import annotations

import pytest

from aidge_build.cores import find_core, load_core
from aidge_build.elf.deviation import UNKNOWN, Count, Deviation, counts_of, deviation_of, numbers_digest, stated
from aidge_build.errors import AidgeError

CORE = (
    'extends = "armv7e-m"\nunicorn = "CORTEX_M4"\n'
    "[cycles]\ntaken = 2\nstore = 1\ncall = 1\nreturn_by_pop = 1\npipelined_loads = true\n"
)
COUNTS = 'source = "a book"\nchip = "a chip"\ncompiler = "none"\nnumbers = "{}"\n\n[counts]\n{}\n'


def core_with(folder, *lines: str, name: str = "first", numbers: str = "", **keys: str):
    """A core of a user's own whose estimates were compared with these counts."""
    path = folder / "cores" / "ours.toml"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        path.write_text(CORE + "".join(f'{key} = "{text}"\n' for key, text in keys.items()) + "[cycles.slow]\nsdiv = 6\n")
    core = load_core("ours", [folder])
    counts = folder / "cores" / "counts" / f"ours.{name}.toml"
    counts.parent.mkdir(exist_ok=True)
    counts.write_text(COUNTS.format(numbers or numbers_digest(core.cycles), "\n".join(lines)))
    return core


def test_the_stated_range_is_that_of_the_counts(tmp_path):
    core = core_with(tmp_path, '"a" = [100, 90]', '"b" = [200, 202]', '"c" = [50, 50]')
    assert deviation_of(core) == Deviation(3, pytest.approx(-0.1), pytest.approx(0.01), pytest.approx(0.11 / 3))
    assert stated(core) == (
        "estimated without wait states; 10.0 % below to 1.0 % above what was measured for 3 programs, 3.7 % on average"
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
    assert found == (Count("a", "a book", 100, 90), Count("b", "a book", 10, 10), Count("z", "a book", 10, 11))
    assert [round(count.error, 3) for count in found] == [-0.1, 0.0, 0.1]


def test_what_is_estimated_lies_between_the_ends_of_the_errors():
    """Measured 1,000, estimated 900 or 1,250: an estimate of 900 may stand for 720 or for 1,000."""
    found = Deviation(2, -0.1, 0.25, 0.175)
    assert found.range_of(900) == (pytest.approx(720), pytest.approx(1000))
    assert Deviation(1, -0.1, -0.05, 0.075).range_of(900) == (900, pytest.approx(1000))
    assert Deviation(1, 0.05, 0.25, 0.15).range_of(1250) == (pytest.approx(1000), 1250)


def test_a_core_without_counts_says_that_its_error_is_unknown(tmp_path):
    assert stated(find_core("cortex-m0")) == UNKNOWN and deviation_of(find_core("cortex-m0")) is None
    path = tmp_path / "cores" / "ours.toml"
    path.parent.mkdir()
    path.write_text(CORE + 'validation = "compared by us"\n[cycles.slow]\nsdiv = 6\n')
    assert stated(load_core("ours", [tmp_path])) == "compared by us"


@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m33", "cortex-m55"])
def test_a_core_without_numbers_has_no_estimate_and_no_error(name):
    assert stated(find_core(name)) == "" and deviation_of(find_core(name)) is None and deviation_of(None) is None
    assert counts_of(find_core(name)) == ()


@pytest.mark.parametrize(
    "name, programs, lowest, highest",
    [("cortex-m0plus", 21, -0.04, 0.02), ("cortex-m3", 23, -0.08, 0.07), ("cortex-m4", 31, -0.13, 0.01)],
)
def test_the_cores_here_were_compared_with_public_programs(name, programs, lowest, highest):
    """A core with +nodsp has the same pipeline, and so the same error."""
    found = deviation_of(find_core(name))
    assert found.counts == programs and lowest < found.lowest < 0 < found.highest < highest
    assert found.mean < 0.03 and deviation_of(find_core(f"{name}")) == found
    assert all(count.measured > 30 and count.source for count in counts_of(find_core(name)))


def test_the_extension_of_a_core_changes_no_error():
    assert deviation_of(find_core("cortex-m4+nofp")) == deviation_of(find_core("cortex-m4"))


@pytest.mark.parametrize(
    "line, numbers, reason",
    [
        ('"a" = [100]', "", "'a' has no two numbers of cycles"),
        ('"a" = [0, 5]', "", "'a' has no two numbers of cycles"),
        ('"a" = [5, "x"]', "", "'a' has no two numbers of cycles"),
        ('"a" = 5', "", "'a' has no two numbers of cycles"),
        ('"a" = [1, 2]', "0123456789ab", "was estimated with other numbers than the core's file has now"),
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


def test_estimates_of_other_numbers_have_another_digest():
    models = [find_core(name).cycles for name in ("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4")]
    digests = [numbers_digest(model) for model in models]
    assert len(set(digests)) == 4 and all(len(digest) == 12 for digest in digests)
