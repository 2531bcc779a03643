# SPDX-License-Identifier: MIT
"""`python -m aidge_build` is the command `aidge-build`."""

import sys

from aidge_build.cli import main

sys.exit(main())
