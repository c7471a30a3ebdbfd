# SPDX-License-Identifier: GPL-2.0-or-later
"""The `scarp` command, in packages by what they are about.

build        what everything else needs first: packages, the cache, QEMU, scarp-replay
device_logs  readers of what a drive has written: its log page, and each of its log files
drive        a drive before and beside its guest: described, checked, aged, saved, replayed
guest        the guest: kernel and initramfs, the virtual machine, one fio job, a prompt
results      what a run's files say: summary, table, pictures, report
runs         run, compare, determinism: several guests, and what they are compared by
replays      replay, array, convert: a trace or generator on the engine alone
why          why: slow commands of a run again, from an instant on under another scheme
powercut     the power fails at many moments of a run, and what is left is checked
own_drive    a drive of one's own: measured, a description fitted to it, the two compared
own_scheme   a policy of one's own: the file that it begins as
sweep        one comparison on many drives and seeds, by Snakemake
search       the best scheme and parameters for a load: replayed, the best few in the guest
reproduce    experiments/*.toml run by scarp-replay; each row of a paper judged; pages written
release      a tarball, an installed tree, pages of the manual
completion   what bash and zsh offer while a command line is typed
dev          what `make test`, `make lint` and `make bench…` run, and `scarp doctor`

A package's command.py adds its commands to the tree of command_tree.py, and its options.py has
options that other packages' commands share.  cli.py joins them all and calls the one that is
typed.  A package imports only from those below it, which tests/scripts/test_scripts.py lists.
"""
