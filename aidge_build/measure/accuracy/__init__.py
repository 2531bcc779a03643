# SPDX-License-Identifier: MIT
"""How often a model is right: float on the host, quantized on the host, and as firmware, on the same labelled samples."""
