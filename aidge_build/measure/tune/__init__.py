# SPDX-License-Identifier: MIT
"""Which kernel is quickest for which layers: every kernel that accepts a layer of some models, measured on an emulated core."""
