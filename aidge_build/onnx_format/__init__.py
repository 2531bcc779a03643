# SPDX-License-Identifier: MIT
"""Reading ONNX files: the only importer of the package onnx."""
