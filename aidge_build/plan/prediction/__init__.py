# SPDX-License-Identifier: MIT
"""Instructions of an inference before anything is compiled, from measured layers, with their error."""
