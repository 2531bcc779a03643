# SPDX-License-Identifier: MIT
"""Programs are compiled, emulated, probed on boards, and compared with the model."""
