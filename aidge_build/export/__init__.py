# SPDX-License-Identifier: MIT
"""Export libraries and their kernels."""
