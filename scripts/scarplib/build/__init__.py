# SPDX-License-Identifier: GPL-2.0-or-later
"""What everything else needs first: packages, the cache, QEMU, scarp-replay."""
