# SPDX-License-Identifier: MIT
"""The version of the tool, which is part of every manifest, and that of the claims."""

VERSION = "0.2.0"
# Of the claims that are written into ELF files; whoever raises it adds the step from this one to `elf.claims._NEXT`.
CLAIM_VERSION = 5
