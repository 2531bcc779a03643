# SPDX-License-Identifier: MIT
"""The importers: they turn ONNX and TensorFlow Lite files into the graph."""
