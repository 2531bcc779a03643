# SPDX-License-Identifier: MIT
"""Golden files: `pytest tests/golden --update-golden` writes what is generated now; read the difference before committing it."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="take the generated text of now as right")


def _shown(data: bytes) -> list[str]:
    """Lines, so that pytest shows the difference."""
    return data.decode("utf-8", "backslashreplace").splitlines()


@pytest.fixture
def golden(request):
    """Compares files (name -> bytes) with those in a folder of tests/golden."""

    def compare(folder_name: str, files: dict[str, bytes]) -> None:
        folder = Path(__file__).parent / folder_name
        if request.config.getoption("--update-golden", default=False):
            folder.mkdir(exist_ok=True)
            for path in folder.iterdir():
                path.unlink()
            for name, data in files.items():
                (folder / name).write_bytes(data)
        assert sorted(path.name for path in folder.iterdir()) == sorted(files)
        for name, data in files.items():
            assert _shown(data) == _shown((folder / name).read_bytes()), f"{folder_name}/{name}"

    return compare
