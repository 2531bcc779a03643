# SPDX-License-Identifier: MIT
"""The longest way through code: how many instructions a call takes at most, whatever the data are, from the linked text alone."""

from aidge_build.prove.longest.steps import StepBound, StepsBound, bound_steps

__all__ = ["StepBound", "StepsBound", "bound_steps"]
