# SPDX-License-Identifier: MIT
"""From a model file to a graph."""
