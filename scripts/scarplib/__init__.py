# SPDX-License-Identifier: GPL-2.0-or-later
"""The `scarp` command, in packages by what they are about.

build        what everything else needs first: packages, the cache, QEMU, scarp-replay
drive        a drive without a guest: its description checked, aged, saved to a file, read back
device_logs  what the drive writes: the vendor log page, the command log, the GC log
guest        the guest: kernel and initramfs, the virtual machine, one fio job, a prompt
results      what a run's files say: summary, table, pictures, report
experiments  run, compare, determinism: several guests, and what they are compared by
own_drive    a drive of one's own: measured, a description fitted to it, the two compared
reproduce    experiments/*.toml run by scarp-replay; each row of a paper judged; pages written
dev          test suites, lint, benchmarks

cli.py reads the command line and calls one of them; a package imports only from those above it.
"""
