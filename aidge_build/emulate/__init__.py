# SPDX-License-Identifier: MIT
"""Running firmware without a board."""
