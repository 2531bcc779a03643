# SPDX-License-Identifier: MIT
"""The interface for authors of kernels: specs, calls, the node that a kernel is applied to, libraries."""
