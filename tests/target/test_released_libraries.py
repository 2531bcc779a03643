# SPDX-License-Identifier: MIT
"""Releases of the inherited system's own export libraries load as they are, and compute right.

They are not part of this project. AIDGE_EXPORT_LIBRARIES names a folder with one folder for each release,
`pip install --target aidge_export_cpp-0.4.1 aidge_export_cpp==0.4.1`; without it ../shared/export_libraries is looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import SHARED

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("AIDGE_EXPORT_LIBRARIES", SHARED / "export_libraries"))
CPP = tuple(("aidge_export_cpp", version, "ExportLibCpp") for version in ("0.2.1", "0.3.1", "0.4.1", "0.10.1"))
ARM = tuple(("aidge_export_arm_cortexm", version, "ExportLibAidgeARM") for version in ("0.1.3", "0.2.1", "0.10.1"))
NETWORKS = ("lenet", "resnet", "mobilenet")


def run(package: str, version: str, *arguments: str) -> dict:
    """What `tests.released_libraries` prints in a process of its own; a skip where the release is not there."""
    own = FOLDER / f"{package}-{version}"
    if not own.is_dir():
        pytest.skip(f"{package} {version} is not in AIDGE_EXPORT_LIBRARIES")
    paths = [own]
    if package == ARM[0][0] and version == "0.10.1":  # it imports the other package
        paths.append(FOLDER / "aidge_export_cpp-0.10.1")
    words = [word for path in paths for word in ("--path", str(path))]
    done = subprocess.run(
        [sys.executable, "-m", "tests.released_libraries", package, *arguments, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("package, version, library", (*CPP, *ARM))
def test_a_release_loads_as_it_is(package, version, library):
    assert run(package, version)[library] > 8


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("package, version, library", CPP)
def test_a_network_through_a_release_is_right_and_leaves_no_array(package, version, library, network):
    found = run(package, version, library, network)
    assert found["differing"] == 0 and found["layers"]["export_cpp"] >= 4


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("package, version, library", ARM)
def test_a_network_through_a_release_for_cortex_m_is_right_on_an_emulated_cortex_m4(package, version, library, network):
    headers = sorted(FOLDER.glob("*/**/CMSIS/Include/cmsis_compiler.h"))
    if not headers:
        pytest.skip("no release in AIDGE_EXPORT_LIBRARIES has cmsis_compiler.h")
    found = run(package, version, library, network, "mps2-an386", "--include", str(headers[0].parent))
    assert found["differing"] == 0 and sum(found["layers"].values()) - found["layers"].get("ref", 0) >= 3
