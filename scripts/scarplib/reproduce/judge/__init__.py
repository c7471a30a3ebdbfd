# SPDX-License-Identifier: GPL-2.0-or-later
"""One file for each paper: how each row of its table is computed, and when it holds."""
