# SPDX-License-Identifier: MIT
"""The order of instructions in kernels in assembly: the one in which a core takes the fewest cycles."""
