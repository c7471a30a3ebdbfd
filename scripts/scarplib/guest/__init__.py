# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest: its kernel and initramfs, the virtual machine, one fio job, a prompt."""
