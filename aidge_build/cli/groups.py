# SPDX-License-Identifier: MIT
"""The purposes of verbs: the headings of `aidge-build --help`."""

from __future__ import annotations

BEGIN = "Begin: a board, a project, this machine"
BUILD = "Build: from a model to C"
UNDERSTAND = "Understand: kernels, memory, bytes"
PROVE = "Prove: memory, exactness, accuracy, speed"
BOARD = "Boards: program one, list what is supported"

GROUPS = (BEGIN, BUILD, UNDERSTAND, PROVE, BOARD)
