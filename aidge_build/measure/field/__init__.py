# SPDX-License-Identifier: MIT
"""Dumps of the monitor, compared with samples or with another dump (docs/howto-field.md)."""
