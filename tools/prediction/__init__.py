# SPDX-License-Identifier: MIT
"""Measures kernels on random layers, and fits the tables with which `aidge_build.plan.prediction` predicts."""
