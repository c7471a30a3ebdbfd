# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive before and beside its guest: described, checked, aged, saved to a file, replayed.

What a drive has written down while it served commands is read by device_logs; what is said of it
in a table or a picture is made by results.
"""
