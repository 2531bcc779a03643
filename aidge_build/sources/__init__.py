# SPDX-License-Identifier: MIT
"""What is read: ONNX and TensorFlow Lite files become the graph."""
