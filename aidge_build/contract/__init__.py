# SPDX-License-Identifier: MIT
"""What a kernel's author reads: specs, calls, the node that a kernel is applied to, libraries."""
