# SPDX-License-Identifier: GPL-2.0-or-later
"""`make reproduce`: experiments/*.toml run by scarp-replay, judged and written down."""
