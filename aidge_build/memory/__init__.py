# SPDX-License-Identifier: MIT
"""Where each buffer lies."""
