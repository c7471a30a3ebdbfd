# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive without a guest: its description checked, aged, saved to a file and read back."""
