# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of what a drive has written: its log page, and a module for each of its log files.

Only formats: bytes become rows with names.  What rows mean for a run is in results, and which
drive wrote them does not matter here: one in a guest, or one of scarp-replay.
"""
