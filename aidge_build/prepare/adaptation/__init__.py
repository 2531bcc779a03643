# SPDX-License-Identifier: MIT
"""Which kernel computes each node, in which storage orders, and what is put around it."""
