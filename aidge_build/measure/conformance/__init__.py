# SPDX-License-Identifier: MIT
"""Conformance: the node cases of the ONNX project as generated C, compiled, run and compared. No case is skipped."""
