# SPDX-License-Identifier: MIT
"""From the command line's words to generated files: request, compile, emit."""
