# SPDX-License-Identifier: MIT
"""The registers of kernels in assembly that name values: `%sum` in place of r4."""
