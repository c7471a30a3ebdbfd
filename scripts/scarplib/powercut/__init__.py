# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut`: what a workload's software survives (docs/powercut.md).

record    one run in the guest, whose drives keep what they were asked and the bytes they were given
cuts      scarp-cuts: the run again on the engine alone, with power cuts, judged by NVMe's contract
"""
