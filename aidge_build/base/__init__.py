# SPDX-License-Identifier: MIT
"""Code that every room uses: errors, reading of untrusted files, names, options, output to people."""
