# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m scarplib.reproduce PAPER CORES HOW [TRACES]`, in a Python that has the packages.

`scarp reproduce` starts it, and has checked the arguments.
"""

from __future__ import annotations

import sys

from scarplib.reproduce.command import command

paper, cores, how, *traces = sys.argv[1:]
sys.exit(command(paper, int(cores), how, *traces))
