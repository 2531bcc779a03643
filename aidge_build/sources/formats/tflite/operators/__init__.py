# SPDX-License-Identifier: MIT
"""The operators of TensorFlow Lite: one file per family, found by looking at this folder."""
