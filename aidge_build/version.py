# SPDX-License-Identifier: MIT
"""The version of the tool; it is part of every manifest."""

VERSION = "0.2.0"
