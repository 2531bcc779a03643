# SPDX-License-Identifier: MIT
"""The publisher and the release of a package, for manifests of many formats: each word is one that all formats can hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError

_RELEASE = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})", re.ASCII)
_AUTHOR = re.compile(
    r"(?=[^<]*[A-Za-z0-9][^<]*[A-Za-z0-9])[A-Za-z0-9][A-Za-z0-9 ._-]{2,58}( <[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,64}>)?",
    re.ASCII,
)
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?(/[A-Za-z0-9._~/-]*)?", re.ASCII)


@dataclass(frozen=True)
class Publication:
    """`release` is three numbers (semver.org), `author` a name, perhaps with <mail@address>, `url` the page of the package.

    AidgeError (USAGE) if one has characters that a manifest would have to escape: quotes, line breaks, letters beyond ASCII.
    """

    release: str = "1.0.0"
    author: str = "aidge_build"
    url: str = "https://example.com/"

    def __post_init__(self):
        for option, value, pattern, example in (
            ("--release", self.release, _RELEASE, "1.4.0"),
            ("--author", self.author, _AUTHOR, "Ada Lovelace <ada@example.com>"),
            ("--url", self.url, _URL, "https://example.com/kws"),
        ):
            if not pattern.fullmatch(value):
                raise AidgeError(
                    f"{value[:80]!r} is not allowed in the manifests of packages",
                    where=option,
                    code="USAGE",
                    hint=f"such as {option} {example!r}, in ASCII",
                )

    @property
    def vendor(self) -> str:
        """The author's name as one word of letters, digits and hyphens: CMSIS solutions know no others."""
        return re.sub(r"[ ._-]+", "-", self.author.partition(" <")[0]).strip("-")
