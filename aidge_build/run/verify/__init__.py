# SPDX-License-Identifier: MIT
"""Does the generated code compute what the model says? Build it, run it, compare."""
