# SPDX-License-Identifier: GPL-2.0-or-later
"""`--trace blk`: the guest's lines that record what its kernel's block layer does (ftrace)."""

from __future__ import annotations

from collections.abc import Sequence

# Where tracefs is mounted. Then what is shipped: the recording, and how many events had no room.
TRACING = "/sys/kernel/tracing"
FILE = "blk.trace"
LOST = "blk.lost"
# For all CPUs together; a request has three events, together some 190 bytes.
_BUFFER_KIB = 48 << 10
# What the guest's memory must have beside all else: as text, the recording is nearly twice that.
MEMORY_MIB = 3 * _BUFFER_KIB >> 10
# When a bio enters the block layer, joins a request that waits, goes to the driver, has ended.
_BLOCK = ("block_bio_queue", "block_rq_issue", "block_rq_complete")
# What waits until data is durable.
SYNC_CALLS = ("fsync", "fdatasync", "sync", "syncfs", "msync", "sync_file_range")
_FAIL = (
    '{ echo "scarp-error: --trace blk: the kernel has no block events in tracefs '
    '(CONFIG_FTRACE, CONFIG_BLK_DEV_IO_TRACE)"; exit 1; }'
)


def prepare(roots: Sequence[str] = ("",)) -> list[str]:
    """Before the start mark; `roots`: from which of the guest's roots the mark may be set."""
    lines = [f"mount -t tracefs tracefs {root}{TRACING} || {_FAIL}" for root in roots]
    sets = {
        # The CPU's counter is the machine's virtual time, and so the drive's, to the nanosecond.
        "trace_clock": "x86-tsc",
        "buffer_size_kb": f"$(({_BUFFER_KIB} / $(grep -c ^processor /proc/cpuinfo)))",
        # What does not fit is the end, not the beginning: a request is whole or not there.
        "options/overwrite": "0",
    }
    lines += [f"echo 0 >{TRACING}/tracing_on"]
    lines += [f"echo {value} >{TRACING}/{name} || {_FAIL}" for name, value in sets.items()]
    lines += [f"echo 1 >{TRACING}/events/block/{name}/enable || {_FAIL}" for name in _BLOCK]
    # Without CONFIG_FTRACE_SYSCALLS the requests are recorded all the same.
    calls = " ".join(f"sys_enter_{name} sys_exit_{name}" for name in SYNC_CALLS)
    events = f"{TRACING}/events/syscalls/$event/enable"
    lines.append(f"for event in {calls}; do [ ! -e {events} ] || echo 1 >{events}; done")
    return lines


def begin() -> str:
    """At the start mark, which a script may set more than once: what was before is not kept."""
    on = f"echo >{TRACING}/trace; echo 1 >{TRACING}/tracing_on"
    return f"if [ -e {TRACING}/tracing_on ]; then {on}; fi"


def end() -> list[str]:
    """Behind the job's end."""
    return [
        f"echo 0 >{TRACING}/tracing_on",
        f"cat {TRACING}/trace >/results/{FILE}",
        f"grep -h '^dropped events' {TRACING}/per_cpu/cpu*/stats >/results/{LOST}",
    ]
