# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways in which a job reaches several drives: docs/array.md says what each is."""

from __future__ import annotations

# The array itself, without and with its flusher.
ARRAYS = ("cached", "flusher")
LAYOUTS = ("independent", "md", *ARRAYS)
