# SPDX-License-Identifier: MIT
"""Whether a compiler's target has what the kernels of a package ask of it, as a condition of the preprocessor."""

from __future__ import annotations

import re

from aidge_build.program import Program
from aidge_build.request import CompileRequest

# ACLE (Arm C Language Extensions), 5: feature test macros of every compiler for Arm.
_MACROS = {
    "narrow": "__ARM_ARCH_ISA_THUMB + 0 >= 1",
    "thumb2": "__ARM_ARCH_ISA_THUMB + 0 >= 2",
    "dsp": "defined(__ARM_FEATURE_DSP)",
    "fpu": "defined(__ARM_FP)",
    "mve": "defined(__ARM_FEATURE_MVE)",
}


def condition_of(request: CompileRequest) -> str:
    """What must hold where the package is compiled; "" where its C is for any core."""
    return " && ".join(f"({macro})" for feature, macro in _MACROS.items() if feature in request.target.features)


def core_of(program: Program) -> str:
    """The core by name, in characters that are harmless anywhere; "" where the C is for any."""
    return re.sub(r"[^A-Za-z0-9+.-]", "_", program.cpu)
