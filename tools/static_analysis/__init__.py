# SPDX-License-Identifier: MIT
"""MISRA C:2012 and three other readers of C over kernels, generated code and examples; deviations with reasons."""
