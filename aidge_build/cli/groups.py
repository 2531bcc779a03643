# SPDX-License-Identifier: MIT
"""What verbs are for: the headings of `aidge-build --help`."""

from __future__ import annotations

BUILD = "Build: from a model to C"
UNDERSTAND = "Understand: what becomes of a model, and where bytes and instructions go"
PROVE = "Prove: exactness, accuracy, memory, speed"
PROJECT = "Project: begin, set up, flash"

GROUPS = (BUILD, UNDERSTAND, PROVE, PROJECT)
