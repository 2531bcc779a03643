# SPDX-License-Identifier: MIT
"""The names of the C library's mathematics (C99, 7.12) for floats, as generated code calls them."""

from __future__ import annotations

MATHEMATICS = """
acosf acoshf asinf asinhf atanf atanhf atan2f cbrtf ceilf copysignf cosf coshf erff exp2f expf expm1f fabsf floorf fmaf
fmaxf fminf fmodf hypotf ldexpf log10f log1pf log2f logf lroundf nearbyintf pow powf remainderf rintf roundf sinf sinhf
sqrtf tanf tanhf truncf
""".split()
