# SPDX-License-Identifier: MIT
"""Specs, implementations, the numpy reference and adaptation."""
