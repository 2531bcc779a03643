# SPDX-License-Identifier: MIT
"""Models on boards with options: a matrix evaluated by many workers into one file, and drawn as a page."""
