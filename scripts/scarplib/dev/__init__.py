# SPDX-License-Identifier: GPL-2.0-or-later
"""For whoever works on Scarp: what `make test`, `make lint` and `make bench…` run.

What a user's command does is elsewhere: in drive if it needs no guest, in guest or experiments if
it does.  `scarp doctor` is here, as it is a benchmark with a verdict.
"""
