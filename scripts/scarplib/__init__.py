# SPDX-License-Identifier: GPL-2.0-or-later
"""The `scarp` command, in packages by what they are about.

build        what everything else needs first: packages, the cache, QEMU, scarp-replay
drive        a drive before and beside its guest: described, checked, aged, saved, replayed
device_logs  readers of what a drive has written: its log page, and each of its log files
guest        the guest: kernel and initramfs, the virtual machine, one fio job, a prompt
results      what a run's files say: summary, table, pictures, report
experiments  run, compare, determinism: several guests, and what they are compared by
powercut     the power fails at many moments of a run, and what is left is checked
own_drive    a drive of one's own: measured, a description fitted to it, the two compared
reproduce    experiments/*.toml run by scarp-replay; each row of a paper judged; pages written
release      a tarball, an installed tree, pages of the manual
dev          what `make test`, `make lint` and `make bench…` run, and `scarp doctor`

cli.py reads the command line and calls one of them; a package imports only from those above it.
"""
