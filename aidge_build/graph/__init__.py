# SPDX-License-Identifier: MIT
"""Values that describe a model: tensors, nodes, the graph."""
