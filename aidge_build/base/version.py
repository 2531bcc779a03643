# SPDX-License-Identifier: MIT
"""The version of the tool, which is part of every manifest, and the version of the claims."""

VERSION = "0.3.0"
# The format of the claims in ELF files; whoever raises it adds the step from the old version to `elf.claims._NEXT`.
CLAIM_VERSION = 5
