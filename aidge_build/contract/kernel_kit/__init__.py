# SPDX-License-Identifier: MIT
"""Code that kernels of several libraries share; no other room of the package imports it."""
