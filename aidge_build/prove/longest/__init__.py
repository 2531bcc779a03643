# SPDX-License-Identifier: MIT
"""The longest path through code: the most instructions that a call takes for any data, from the linked code alone."""

from aidge_build.prove.longest.steps import StepBound, StepsBound, bound_steps

__all__ = ["StepBound", "StepsBound", "bound_steps"]
