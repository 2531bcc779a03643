# SPDX-License-Identifier: MIT
"""Trains, measures and describes the models of `examples/zoo`: a module for each, and what they share."""
