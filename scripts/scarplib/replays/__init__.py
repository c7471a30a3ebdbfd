# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay`, `array` and `convert`: a trace or a generator on the engine, without a guest."""
