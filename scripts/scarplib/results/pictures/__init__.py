# SPDX-License-Identifier: GPL-2.0-or-later
"""The pictures of a run, one file each (matplotlib: in the cache's venv)."""
