# SPDX-License-Identifier: MIT
"""The options that firmware was generated with, for a command about a new model in its place."""

from __future__ import annotations

import argparse

from aidge_build.elf.claim import Claim
from aidge_build.errors import AidgeError
from aidge_build.inputs import UNNAMED_CONTRACT
from aidge_build.options import MODEL, differing, from_words
from aidge_build.version import VERSION


def options_of(claim: Claim, elf: str) -> argparse.Namespace:
    """The options in the claim of a model, without paths, which firmware does not remember; AidgeError (CLAIM) where this version
    does not know one."""
    try:
        remembered = from_words(claim.made_with or (), MODEL.options)
    except ValueError as error:
        raise AidgeError(
            "was generated with options that this version does not know",
            where=elf,
            tried=claim.made_with or (),
            code="WEIGHTS",
            hint=f"use the version that made the firmware: {install(claim)}",
        ) from error
    remembered.rounding = remembered.rounding or UNNAMED_CONTRACT
    return remembered


def install(claim: Claim) -> str:
    """Returns the command that installs the version of the tool that made the firmware."""
    return f"pip install aidge-build=={claim.tool or VERSION}"


def other_options(arguments: argparse.Namespace, firmware: argparse.Namespace, *left_out: str) -> tuple[str, str]:
    """The options of the command that differ from the firmware's, without `left_out`, and those of the firmware in their place:
    ("--optimize size", "--optimize balanced"); ("", "") where none differs."""
    options = [option for option in MODEL.options if option.name not in left_out]
    found = differing(arguments, firmware, options)
    return " ".join(given for given, _ in found), " ".join(before for _, before in found)
