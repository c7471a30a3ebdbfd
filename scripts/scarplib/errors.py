# SPDX-License-Identifier: GPL-2.0-or-later
"""The error that a user reads as one line."""


class UserError(Exception):
    """Says what is wrong, where (the option or key), and what is allowed."""


def of_system(error: OSError) -> str:
    """What the system refused, and of which file, in one line."""
    name = "" if error.filename is None else f"{error.filename}: "
    return f"{name}{error.strerror or error}"
