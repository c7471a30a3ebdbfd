# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp cut`: the power of a running guest's drive fails, by QMP (qemu.qmp: in the venv)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from qemu.qmp import ConnectError, ExecuteError

from scarplib.errors import UserError
from scarplib.guest.qmp import Monitor, MonitorClosed, Seconds

# A QEMU that does not answer for so long has stopped, or another program talks to it.
_ANSWER_S = 60


@contextlib.contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Everything that goes wrong is one."""
    try:
        yield
    except ExecuteError as error:
        raise UserError(str(error)) from error
    except TimeoutError as error:
        raise UserError(f"{path}: no answer: QEMU serves one connection at a time") from error
    except MonitorClosed as error:
        raise UserError(f"{path}: the guest has ended") from error
    except ConnectError as error:
        cause = error.exc
        if isinstance(cause, EOFError | ConnectionResetError | BrokenPipeError):
            raise UserError(f"{path}: the guest has ended") from error
        if isinstance(cause, OSError):
            raise UserError(f"{path}: {cause.strerror or cause}") from error
        raise UserError(f"{path}: is no QMP socket") from error


def cut(path: Path, drive: str) -> str:
    """Cuts the power of the flash device with that id; says what it has lost by that."""
    with (
        _one_line(path),
        contextlib.closing(Monitor(str(path), lambda: Seconds(_ANSWER_S))) as monitor,
    ):
        device = {"path": f"/machine/peripheral/{drive}"}
        known = [each["name"] for each in monitor.ask("qom-list", path="/machine/peripheral")]
        if drive not in known:
            raise UserError(f"--drive: {path} has no device with the id '{drive}'")
        before = json.loads(monitor.ask("qom-get", property="stats", **device))
        monitor.ask("qom-set", property="power", value="cut", **device)
        after = json.loads(monitor.ask("qom-get", property="stats", **device))
    lost = after["cut_cmds"] - before["cut_cmds"]
    torn = after["torn_pages"] - before["torn_pages"]
    return (
        f"{drive}: cut number {after['power_cuts']}: {lost} commands under way, {torn} pages torn"
    )
