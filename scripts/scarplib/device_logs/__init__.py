# SPDX-License-Identifier: GPL-2.0-or-later
"""What the drive writes: the vendor log page, the command log, the GC log."""
