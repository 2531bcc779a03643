# SPDX-License-Identifier: MIT
"""Evidence for docs/safety.md: which test holds which requirement, and which branches of generated C the vectors execute."""
