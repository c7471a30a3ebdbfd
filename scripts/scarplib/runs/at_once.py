# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that run at once: as many as there is room for, until all have ended or Ctrl-C."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

from scarplib.guest import user_guest, vm
from scarplib.guest.progress import Watcher

# Boots, runs, collects; ends early when the event is set.
Guest = Callable[[threading.Event], vm.GuestResult]


def guest_failure(name: str, result: vm.GuestResult) -> str | None:
    """Why a guest did not end well, with its console's end; None if it did."""
    if result.reason == "ok":
        return None
    tail = "\n".join(f"    {line}" for line in result.console_tail.splitlines()[-25:])
    why = user_guest.said(result.console_tail) or result.reason
    return f"guest '{name}': {why}; its console ended with:\n{tail}"


def _note_end(watcher: Watcher, name: str, _: Future[vm.GuestResult]) -> None:
    watcher.ended.add(name)


def run_guests(
    guests: dict[str, Guest],
    files: dict[str, Path],
    parallel: int,
    expected: int | None,
    clock: str = "virtual",
) -> tuple[dict[str, vm.GuestResult], dict[str, str], bool]:
    """Run the guests, at most so many at once: their results, what failed, and whether Ctrl-C
    ended them before all were done."""
    stop = threading.Event()
    interrupted = False
    results: dict[str, vm.GuestResult] = {}
    failures: dict[str, str] = {}
    workers = min(len(guests), parallel or os.cpu_count() or 1)
    with Watcher(files, expected, clock=clock) as watcher, ThreadPoolExecutor(workers) as pool:
        futures: dict[Future[vm.GuestResult], str] = {}
        try:
            for name, guest in guests.items():
                future = pool.submit(guest, stop)
                futures[future] = name
                future.add_done_callback(partial(_note_end, watcher, name))
            # The signal may have come to another thread, which wakes nobody.
            while wait(futures, 0.5).not_done:
                pass
        except KeyboardInterrupt:
            interrupted = True
            # Guests that have not begun never will; only then are the others killed, which
            # would make room for them.
            for future in futures:
                future.cancel()
            stop.set()
    for future, name in futures.items():
        if future.cancelled():
            failures[name] = f"guest '{name}': not begun"
        elif error := future.exception():
            failures[name] = f"guest '{name}': {error}"
        elif future.result().reason == "stopped":
            failures[name] = f"guest '{name}': stopped"
        elif text := guest_failure(name, future.result()):
            failures[name] = text
        else:
            results[name] = future.result()
    return results, failures, interrupted
