# SPDX-License-Identifier: MIT
"""Inputs that a run saw are compared with samples by the words of the claim."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.cli.run_seen import input_findings
from aidge_build.prove.elf.claim import ClaimedArgument


@pytest.mark.requirement("CLAIM")
def test_an_input_with_a_type_that_no_version_writes_is_refused_by_its_name():
    result = SimpleNamespace(seen=SimpleNamespace(entries=[SimpleNamespace(inputs=[b"\0"])]))
    port = ClaimedArgument("picture", "a word", "no scale", 1)
    with pytest.raises(AidgeError, match="--io-data: input 'picture' is 'a word'"):
        list(input_findings(result, [port], Path("samples.npz")))
