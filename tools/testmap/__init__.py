# SPDX-License-Identifier: MIT
"""The test map: which code and which files each test file uses."""
