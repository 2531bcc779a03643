# SPDX-License-Identifier: MIT
"""A condition of the preprocessor: whether the compiler's target has the features that the kernels of a package need."""

from __future__ import annotations

import re

from aidge_build.build.request import CompileRequest
from aidge_build.plan.program import Program


def condition_of(request: CompileRequest) -> str:
    """Returns the preprocessor condition under which the package compiles; "" if its C is for any core."""
    known = request.core.known_features if request.core else {}
    macros = [feature.macro for name, feature in known.items() if name in request.target.features]
    return " && ".join(f"({macro})" for macro in macros if macro)


def core_of(program: Program) -> str:
    """Returns the name of the core, in characters that are harmless anywhere."""
    return re.sub(r"[^A-Za-z0-9+.-]", "_", program.target.cpu)
