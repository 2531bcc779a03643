# SPDX-License-Identifier: MIT
"""What operators mean on quantized tensors under the contract `double`: that of TensorFlow Lite's reference kernels.

One file for each family of operators, found by looking at this folder (`operators.meanings`); docs/tflite.md names the sources.
"""
