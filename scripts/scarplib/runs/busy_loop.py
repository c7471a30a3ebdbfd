# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps a core busy until it is killed: the determinism test's busy host."""

while True:
    pass
