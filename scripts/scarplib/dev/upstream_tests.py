# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp test-upstream`: QEMU's own nvme tests on the patched QEMU."""

from __future__ import annotations

import os
import subprocess

from scarplib.build.qemu import compile_targets, ensure_qemu


def nvme_tests(listing: str) -> list[str]:
    """Of a GLib test program's -l; since GLib 2.84 that is TAP, with the names in comments."""
    names = [line.removeprefix("# ") for line in listing.splitlines()]
    return [name for name in names if name.startswith("/") and "/nvme/" in name]


def main() -> int:
    """TAP on standard output; the exit status is the harness's."""
    qemu = ensure_qemu()
    compile_targets(
        qemu.build_dir,
        "qemu-system-x86_64",
        "tests/qtest/qos-test",
        "qemu-img",
        "storage-daemon/qemu-storage-daemon",
    )
    test = qemu.build_dir / "tests" / "qtest" / "qos-test"
    # The harness reads the target from the name and takes no options: a wrapper adds them.
    wrapper = qemu.build_dir / "with-firmware" / "qemu-system-x86_64"
    wrapper.parent.mkdir(exist_ok=True)
    wrapper.write_text(f'#!/bin/sh\nexec "{qemu.binary}" -L "{qemu.firmware_dir}" "$@"\n')
    wrapper.chmod(0o755)
    environment = {
        **os.environ,
        "QTEST_QEMU_BINARY": str(wrapper),
        "QTEST_QEMU_IMG": str(qemu.build_dir / "qemu-img"),
    }
    listing = subprocess.run(
        [test, "-l"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=qemu.build_dir,
    ).stdout
    names = nvme_tests(listing)
    if not names:
        print("not ok 1 - no nvme test found in QEMU's qos-test")
        return 1
    return subprocess.run(
        [test, "--tap", *(part for name in names for part in ("-p", name))],
        env=environment,
        cwd=qemu.build_dir,
        check=False,
    ).returncode
