# SPDX-License-Identifier: MIT
"""The numpy backend, which defines the meaning of a graph."""
