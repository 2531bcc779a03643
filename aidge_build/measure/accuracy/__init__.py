# SPDX-License-Identifier: MIT
"""The accuracy of a model: float on the host, quantized on the host, and as firmware, on the same labelled samples."""
