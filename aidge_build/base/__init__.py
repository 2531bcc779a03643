# SPDX-License-Identifier: MIT
"""What every room uses: errors, files of strangers as bytes and values, names, options, output to people."""
