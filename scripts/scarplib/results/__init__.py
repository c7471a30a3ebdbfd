# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run's files say: fio's numbers, the summary, the table, the pictures, the report."""
