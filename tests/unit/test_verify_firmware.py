# SPDX-License-Identifier: MIT
"""A model as a program: what is written for it and read back, and what its exit code says; compiler and core are played."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy
import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.boards import load_board
from aidge_build.run.emulate import Counted
from aidge_build.run.verify import firmware
from tests.emitted import chain, chain_result

HOST = load_board("host")
X = {"x": numpy.array([[[1, -2, 3, -4, 5, -6]], [[9, 8, 7, 6, 5, 4]]], numpy.int8)}


def record(index: int, values: numpy.ndarray) -> bytes:
    return struct.pack("<II", index, values.nbytes) + values.tobytes()


class Played:
    """Stands for compiler and core: computes `chain` from input.bin; remembers what it was asked for."""

    def __init__(self, exit_code: int = 0, surplus: bytes = b"", traced_bytes: int | None = None):
        self.exit_code, self.surplus, self.traced_bytes = exit_code, surplus, traced_bytes

    @staticmethod
    def turns(row: numpy.ndarray) -> list[tuple[int, numpy.ndarray]]:
        """Two layers that take turns: some of the first one's values, all of the second, the rest of the first."""
        return [(0, row[:1:-1]), (1, row), (0, row[1::-1])]

    def build(self, board, sources, output, **options):
        self.sources, self.options = sources, options
        return output

    def run(self, elf, board, *, work_folder, **options):
        self.asked = options
        rows = numpy.frombuffer((work_folder / "input.bin").read_bytes(), numpy.int8).reshape(-1, 6)
        results = [chain_result(row) for row in rows]
        (work_folder / "output.bin").write_bytes(b"".join(row.tobytes() for row in results) + self.surplus)
        traced = [record(*part) for row in results for part in self.turns(row)]
        (work_folder / "trace.bin").write_bytes(b"".join(traced)[: self.traced_bytes])
        return SimpleNamespace(exit_code=self.exit_code)

    def image(self, elf):
        symbols = [("toy_run", "function", 40), ("aidge_toy_scale_s8", "function", 24), ("main", "function", 90)]
        symbols += [("toy_arena", "object", 500), ("printf", "function", 900), ("aidge_start", "function", 220)]
        return SimpleNamespace(symbols=[SimpleNamespace(name=n, kind=k, size_bytes=s) for n, k, s in symbols])


@pytest.fixture
def played(monkeypatch):
    def play(**options) -> Played:
        found = Played(**options)
        monkeypatch.setattr(firmware, "build_program", found.build)
        monkeypatch.setattr(firmware, "run_program", found.run)
        monkeypatch.setattr(firmware, "read_image", found.image)
        monkeypatch.setattr(firmware, "program_timing", lambda elf, board, **how: "timing")
        return found

    return play


def test_vectors_go_in_row_by_row_and_outputs_come_back_by_name(played, tmp_path):
    machine = played()
    (tmp_path / "output.bin").write_bytes(b"old")
    found = firmware.execute(chain(), HOST, X, tmp_path, flags=("-O3",))
    assert found.outputs["y"].tolist() == [[chain_result(row[0]).tolist()] for row in X["x"]]
    assert (found.trace, found.code_bytes, found.elf) == ({}, 64, tmp_path / "toy.elf")
    assert found.weights_bytes == 6 + 4 * 6
    assert [path.name for path in machine.sources] == ["toy.c", "toy_weights.c", "main.c"]
    assert machine.options["extra_flags"] == ("-O3",) and machine.options["include_folders"] == [tmp_path]
    assert machine.asked["count"]
    assert machine.asked["counted"] == Counted("toy_run", ["toy_first", "toy_second"])
    assert "trace" not in (tmp_path / "toy.c").read_text()


def test_a_trace_has_every_layers_output_and_is_not_counted(played, tmp_path):
    machine = played()
    found = firmware.execute(chain(), HOST, X, tmp_path, trace=True, estimates=True)
    assert found.trace["middle"].shape == (2, 1, 6)
    assert found.trace["middle"][:, :, ::-1].tolist() == found.trace["y"].tolist() == found.outputs["y"].tolist()
    assert (machine.asked["count"], machine.asked["counted"].timing) == (False, "timing")
    assert "trace" in (tmp_path / "toy.c").read_text() and "trace.bin" in (tmp_path / "main.c").read_text()


def test_a_trace_that_lacks_bytes_of_a_layer_is_no_result(played, tmp_path):
    played(traced_bytes=-10)
    with pytest.raises(CheckFailed, match="trace.bin: has 10 B of 'middle'"):
        firmware.execute(chain(), HOST, X, tmp_path, trace=True)


@pytest.mark.requirement("RUN")
def test_a_program_that_fails_is_no_result(played, tmp_path):
    played(exit_code=4)
    with pytest.raises(CheckFailed, match="the program ended with exit code 4. Hint: 3: input.bin is short, 4: the model's run"):
        firmware.execute(chain(), HOST, X, tmp_path)


def test_more_or_less_output_than_expected_is_no_result(played, tmp_path):
    played(surplus=b"!")
    with pytest.raises(CheckFailed, match="has 13 bytes, expected 12"):
        firmware.execute(chain(), HOST, X, tmp_path)
