# SPDX-License-Identifier: MIT
"""Reading ELF files."""
