# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways in which a job reaches several drives: docs/array.md says what each is."""

from __future__ import annotations

# The array as a block device, without and with its flusher; and as an engine of fio.
DEVICES = ("cached", "flusher")
ARRAYS = (*DEVICES, "engine")
LAYOUTS = ("independent", "md", "dm", *ARRAYS)
# The engine needs fio's sources, which not every mirror has.
USUAL = ("independent", "md", "dm", *DEVICES)
