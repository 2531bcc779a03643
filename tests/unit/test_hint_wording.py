# SPDX-License-Identifier: MIT
"""Hints name options as they are typed in the build that runs the command."""

from __future__ import annotations

import pytest

from aidge_build.base.options.wording import FRONT_END, as_typed


@pytest.mark.parametrize(
    "hint, scons, cmake",
    [
        ("say --weights-in", "say weights_in=", "say WEIGHTS_IN"),
        ("say so: --shares kws+vww", "say so: shares='kws+vww'", "say so: SHARES kws+vww"),
        ("--weights-in RAM, if", "weights_in='RAM', if", "WEIGHTS_IN RAM, if"),
        ("name --board, or --region for each", "name board=, or regions= for each", "name BOARD, or REGIONS for each"),
        ("--region A=0x0,0x10,flash", "regions={'A': '0x0,0x10,flash'}", "REGIONS A=0x0,0x10,flash"),
        ("without DMA: --dma off", "without DMA: dma='off'", "without DMA: DMA off"),
        ("a larger --max-stack 512", "a larger max_stack=512", "a larger MAX_STACK 512"),
        ("--state OUTPUT=INPUT, of the same", "state={'OUTPUT': 'INPUT'}, of the same", "STATE OUTPUT=INPUT, of the same"),
        ("a smaller --max-instructions", "a smaller max_instructions=", "a smaller --max-instructions"),
        ("`report --board B` shows", "`report --board B` shows", "`report --board B` shows"),
        ("aidge-build fit --board B, or --board", "aidge-build fit --board B, or board=", "aidge-build fit --board B, or BOARD"),
        ("-Wl,--trace-symbol=malloc --plan", "-Wl,--trace-symbol=malloc --plan", "-Wl,--trace-symbol=malloc --plan"),
    ],
)
def test_an_option_in_a_hint_is_called_as_the_user_of_that_build_types_it(monkeypatch, hint, scons, cmake):
    monkeypatch.delenv(FRONT_END, raising=False)
    assert as_typed(hint) == hint
    for front_end, expected in (("SCons", scons), ("CMake", cmake), ("other", hint)):
        monkeypatch.setenv(FRONT_END, front_end)
        assert as_typed(hint) == expected
