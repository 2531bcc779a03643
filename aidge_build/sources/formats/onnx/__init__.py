# SPDX-License-Identifier: MIT
"""ONNX files as graphs."""
