# SPDX-License-Identifier: MIT
"""The order of execution and the lifetimes of tensors."""
