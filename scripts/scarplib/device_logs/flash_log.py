# SPDX-License-Identifier: GPL-2.0-or-later
"""The flash log of a replay: a row for each command, in the order of the command log.

It says which flash command ended last for the command.  The writer is ftl/replay/flashlog.c.
"""

from __future__ import annotations

from scarplib.device_logs.log_file import Layout

LAYOUT = Layout(b"SCARPFL1", 0, (("die", "I"), ("plane", "I"), ("block", "I"), ("page", "I")))
# The command needed no flash: its data was in the buffer, or nowhere.
NOWHERE = 2**32 - 1
