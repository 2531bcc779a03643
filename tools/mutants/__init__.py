# SPDX-License-Identifier: MIT
"""Whether the tests guard the code that proves things: small faults are put into it, one at a time, and a test must fail."""
