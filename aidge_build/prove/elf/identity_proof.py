# SPDX-License-Identifier: MIT
"""Whether the parts of a model in a program come from one generation: its claim and constants, its code, and its interface."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.base.naming import code_symbol
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import ERROR, WARNING, Finding
from aidge_build.prove.elf.image import Image


def check_identity(image: Image, claim: Claim) -> Iterator[Finding]:
    """Yields MEM04 for constants that were not generated with the code that reads them, although the names of the arrays are
    equal."""
    if claim.is_contradicted:
        yield Finding(
            "MEM04",
            ERROR,
            f"the program holds several claims of model {claim.model}, which contradict each other",
            f"link one {claim.model}_weights.c, and no archive with another one",
        )
    interfaces = tuple(sorted({digest for name in claim.computing for digest in image.digests.get(name, ())}))
    codes = _codes(image, claim.model)
    if claim.interface and interfaces and interfaces != (claim.interface,):
        yield _mismatch(claim, "interface", interfaces, claim.interface)
    elif claim.code and codes and codes != (claim.code,):
        yield _mismatch(claim, "code", codes, claim.code)
    elif claim.code and not codes:
        yield Finding(
            "MEM04",
            WARNING,
            f"the code of model {claim.model} does not say whether its constants were generated with it",
            "its compiler knows no GNU C, an earlier version of aidge-build generated it, or a tool has removed symbols",
        )


def _codes(image: Image, model: str) -> tuple[str, ...]:
    """Returns the digests that the model's code files leave as symbols."""
    start = code_symbol(model, "")
    names = (symbol.name for symbol in image.symbols if symbol.kind == "absolute")
    return tuple(sorted({name.removeprefix(start) for name in names if name.startswith(start)}))


def _mismatch(claim: Claim, what: str, linked: tuple[str, ...], claimed: str) -> Finding:
    return Finding(
        "MEM04",
        ERROR,
        f"the constants of model {claim.model} were generated with {what} {claimed}, the program has {' and '.join(linked)}: "
        f"{claim.model}_weights.c is from another model, or from another build",
    )
