# SPDX-License-Identifier: GPL-2.0-or-later
"""For whoever works on Scarp: test suites, lint, benchmarks."""
