# SPDX-License-Identifier: MIT
"""The graph becomes layers that kernels compute: recipes, quantization, adaptation to libraries; graphs under construction."""
