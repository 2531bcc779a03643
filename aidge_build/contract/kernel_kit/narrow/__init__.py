# SPDX-License-Identifier: MIT
"""int8 kernels of cores with products of 32 bits and no others: three sums share two words."""
