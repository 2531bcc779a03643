# SPDX-License-Identifier: MIT
"""The numpy backend: what a graph means."""
