# SPDX-License-Identifier: MIT
"""Damaged inputs by the thousand: each must end in an exit code that means something, in one line, soon, and in little memory."""
