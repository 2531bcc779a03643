# SPDX-License-Identifier: MIT
"""TensorFlow Lite models to graphs: the same operators, in logical order, on quantized tensors."""
