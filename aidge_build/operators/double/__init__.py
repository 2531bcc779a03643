# SPDX-License-Identifier: MIT
"""The meaning of operators on quantized tensors under the contract `double`, which TensorFlow Lite's reference kernels define.

Each family of operators has a file in this folder, which `operators.meanings` finds; docs/tflite.md names the sources.
"""
