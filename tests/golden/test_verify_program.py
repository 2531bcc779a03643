# SPDX-License-Identifier: MIT
"""The program that verification puts around a model, for every way in which a model takes its memory."""

from __future__ import annotations

import itertools

from aidge_build.plan.options import Options
from aidge_build.run.verify.firmware import _harness
from tests.emitted import chain, float_sum, reversal


def test_the_program_around_a_model_is_as_it_was(golden):
    texts = {}
    for io, arena, trace in itertools.product(("caller", "arena"), ("static", "caller"), (False, True)):
        texts[f"chain_{io}_{arena}_{trace}.c"] = _harness(chain(options=Options(io=io, arena=arena, trace=trace)), trace)
    for arena in ("static", "caller"):
        texts[f"sum_{arena}.c"] = _harness(float_sum(options=Options(arena=arena)), False)
        texts[f"reversal_{arena}.c"] = _harness(reversal(options=Options(arena=arena)), False)
    golden("verify_program", {"programs.txt": "".join(f"== {name}\n{text}\n" for name, text in texts.items()).encode()})
