# SPDX-License-Identifier: GPL-2.0-or-later
"""What bash and zsh offer while a `scarp` command line is typed."""
