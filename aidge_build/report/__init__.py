# SPDX-License-Identifier: MIT
"""What goes where, for people."""
