# SPDX-License-Identifier: MIT
"""What kernels of several libraries share; nothing else of the package imports it."""
