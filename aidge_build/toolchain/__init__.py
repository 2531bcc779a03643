# SPDX-License-Identifier: MIT
"""The only caller of compilers and binutils."""
