# SPDX-License-Identifier: MIT
"""Static memory planning on plain values: buffers in, offsets with a proof (or its absence) out.

The way through the room: `buffer` (the question) -> `planner.plan` (`greedy`, `climb`, `branch` look for offsets in the
numeric view `problem`) -> `plan` (the answer) -> `checker` (independent of all of these) -> `picture`, `drawing`.
`regions` spreads buffers over several memories with a plan for each; `replay` proves a whole schedule byte by byte.
"""
