# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run`, `compare` and `determinism`: several guests, and what they are compared by."""
