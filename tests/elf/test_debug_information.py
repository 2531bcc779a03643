# SPDX-License-Identifier: MIT
"""Where debug information says that a name is defined."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from aidge_build.prove.elf.debug_info import defined_at
from aidge_build.run.toolchain import find_host_compiler


@pytest.mark.parametrize(
    "compiler, version", [("arm-none-eabi-gcc", 4), (find_host_compiler().c, 4), (find_host_compiler().c, 5)]
)
def test_a_variable_is_defined_in_the_file_with_its_definition_in_each_version_of_dwarf(compiler, version, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("first.h").write_text("\nstatic int in_first = 1;\nextern int in_source;\n")
    Path("second.h").write_text("static int in_second = 2;\n")
    Path("own.c").write_text(
        '#include "first.h"\n#include "second.h"\n\n\nint in_source;\nint *all(int k) { return k ? &in_first : &in_second; }\n'
    )
    # GNU as for Cortex-M writes tables of files as DWARF 3 has them, whatever the version.
    subprocess.run([compiler, f"-gdwarf-{version}", "-c", "own.c"], check=True)
    places = defined_at(Path("own.o"), ("in_first", "in_second", "in_source", "all", "absent"))
    found = {name: (os.path.relpath(file), line) for name, (file, line) in places.items()}
    assert found == {"in_first": ("first.h", 2), "in_second": ("second.h", 1), "in_source": ("own.c", 5), "all": ("own.c", 6)}
