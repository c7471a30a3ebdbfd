# SPDX-License-Identifier: GPL-2.0-or-later
"""Is this a drive?  Asked of the engine itself, before a guest boots."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scarplib import scheme_text
from scarplib.build.qemu import QemuBuild
from scarplib.drive import controller
from scarplib.drive.switch import Switch
from scarplib.errors import UserError


def check_drive(
    qemu: QemuBuild,
    device: Path | None,
    scheme: str,
    age: int = 0,
    overrides: str | None = None,
    seed: int = 1,
    image: Path | None = None,
    view: controller.HostView = controller.WHOLE,
    switch: Switch | None = None,
) -> None:
    """Let the engine itself judge description, image, scheme, overrides, view and a switch."""
    if device and not device.is_file():
        raise UserError(f"--device: {device}: no such file")
    chosen = scheme_text.split(scheme)
    options = {"id": "f0", "scheme": chosen.name.replace(",", ",,"), "seed": str(seed)}
    if params := chosen.params(";"):
        options["params"] = params
    if device:
        options["description"] = str(device.resolve()).replace(",", ",,")
    if image:
        options["image"] = str(image.resolve()).replace(",", ",,")
    else:
        options["age"] = str(age)
    if overrides:
        options["overrides"] = overrides.replace(",", ";")
    if switch:
        options |= {name: str(value) for name, value in switch.options().items()}
    # The drive needs no machine; its namespaces are on a controller, which is on a bus.
    seen = view != controller.WHOLE
    machine = "q35,accel=qtest" if seen else "none"
    command = [str(qemu.binary), "-L", str(qemu.firmware_dir), "-machine", machine, "-nodefaults"]
    command += ["-display", "none", "-monitor", "stdio", "-S", "-device"]
    command.append("nvme-flash," + ",".join(f"{k}={v}" for k, v in options.items()))
    if seen:
        command += controller.arguments(0, view)
    done = subprocess.run(
        command,
        input="quit\n",
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        text = lines[0] if lines else f"exit status {done.returncode}"
        # "qemu-system-x86_64: -device nvme-flash,…: reason": the reason is for the user.
        for word in command:
            text = text.split(f"-device {word}: ", 1)[-1]
        text = text.removeprefix(f"{qemu.binary.name}: ")
        # The engine speaks of a parameter, which several may have.
        named = switch.scheme if switch else scheme
        raise UserError(f"'{named}': {text}" if scheme_text.split(named).parameters else text)
