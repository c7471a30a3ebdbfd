# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers about this machine that hold until it boots again, or another QEMU asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from scarplib.build.cache import cache_dir
from scarplib.build.qemu import QemuBuild


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def answer(name: str, qemu: QemuBuild, ask: Callable[[], tuple[str, bool]]) -> str:
    """The answer kept under `name`, or what `ask` returns: an answer, and whether it is certain.

    An answer that is not certain is not kept.
    """
    known = cache_dir() / f"{name}.json"
    key = [_boot_id(), qemu.version, qemu.series_hash]
    try:
        found = json.loads(known.read_text())
        if found["key"] == key:
            return str(found["answer"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    said, certain = ask()
    if certain:
        fresh = known.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps({"key": key, "answer": said}) + "\n")
        fresh.replace(known)
    return said
