# SPDX-License-Identifier: GPL-2.0-or-later
"""How the open parameters of experiments/*.toml were found, one file for each paper."""
