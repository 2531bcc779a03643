# SPDX-License-Identifier: MIT
"""`bench` measures a folder of models, and fails when an instruction count grew."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.command import aidge_build
from tests.shared import int8_model, vectors


@pytest.fixture
def folder(tmp_path):
    shutil.copy(int8_model("ad_toycar"), tmp_path)
    shutil.copy(vectors("ad_toycar"), tmp_path)
    return tmp_path


def test_bench_records_figures_and_fails_when_a_count_grew(folder):
    record = folder / "bench.json"
    first = aidge_build("bench", folder, "--boards", "mps2-an386", "--out", record, "--json").json
    (entry,) = first["results"]
    assert entry["differing_values"] == 0 and 0 < entry["instructions"] <= 330_000
    assert aidge_build("bench", folder, "--boards", "mps2-an386", "--check", record).exit_code == 0
    entry["instructions"] -= 1
    record.write_text(json.dumps(first))
    assert aidge_build("bench", folder, "--boards", "mps2-an386", "--check", record).exit_code == 1
    first["compiler"] = "another 1.0"
    record.write_text(json.dumps(first))
    assert aidge_build("bench", folder, "--boards", "mps2-an386", "--check", record).exit_code == 3
