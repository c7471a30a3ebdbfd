# SPDX-License-Identifier: GPL-2.0-or-later
"""The error that a user reads as one line."""


class UserError(Exception):
    """Says what is wrong, where (the option or key), and what is allowed."""
