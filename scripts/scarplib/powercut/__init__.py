# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut`: what a workload's software survives (docs/powercut.md).

options      what the command may be told; command, ways: what it does with that
record       one run in the guest, whose drives keep what they were asked and given
recording    that run in its folder
layout       how several drives make up one, or a file system
cuts         scarp-cuts: the run again on the engine alone, cut, and judged by NVMe's contract
checks       which checks there are; promises, fio_durable: what they may ask for at a moment
check_guest  the guest that runs them on one drive's contents after the other
judge        which contents it gets, and what it found
run, report  all of that in order, and its words
lies         drives that do not what they say, to see which check sees it
"""
