# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp cut`: the power of a running guest's drive fails, by QMP."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path
from typing import Any

from scarplib.errors import UserError

# A QEMU that does not answer for so long has stopped, or another program talks to it.
_ANSWER_S = 60
# sun_path's, with the zero at its end.
_PATH_BYTES = 108


def qmp_arguments(path: Path | None) -> list[str]:
    """QEMU's, for a socket at which others can talk to it while it runs."""
    if not path:
        return []
    path = path.resolve()
    if len(str(path).encode()) >= _PATH_BYTES:
        raise UserError(f"--qmp: {path}: a socket's path has at most {_PATH_BYTES - 1} bytes")
    if not path.parent.is_dir():
        raise UserError(f"--qmp: {path.parent}: no such folder")
    if path.exists() and not path.is_socket():
        raise UserError(f"--qmp: {path}: there is a file already, which is no socket")
    # In QEMU's options two commas mean one.
    name = str(path).replace(",", ",,")
    return ["-qmp", f"unix:{name},server=on,wait=off"]


class Monitor:
    """A connection to a QEMU that runs; everything that goes wrong is one line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_ANSWER_S)
        try:
            self._socket.connect(str(path))
            self._stream = self._socket.makefile("rw", encoding="utf-8")
            if "QMP" not in self._line():
                raise UserError(f"{path}: is no QMP socket")
            self.ask("qmp_capabilities")
        except OSError as error:
            self._socket.close()
            raise UserError(f"{path}: {error.strerror or error}") from error

    def close(self) -> None:
        self._socket.close()

    def _line(self) -> dict[str, Any]:
        try:
            text = self._stream.readline()
            said = json.loads(text) if text else None
        except TimeoutError as error:
            raise UserError(
                f"{self._path}: no answer: QEMU serves one connection at a time"
            ) from error
        except ConnectionError as error:
            raise UserError(f"{self._path}: the guest has ended") from error
        except ValueError as error:
            raise UserError(f"{self._path}: is no QMP socket") from error
        if said is None:
            raise UserError(f"{self._path}: the guest has ended")
        if not isinstance(said, dict):
            raise UserError(f"{self._path}: is no QMP socket")
        return said

    def ask(self, command: str, **arguments: object) -> Any:
        """What QEMU returns."""
        self._stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._stream.flush()
        while True:
            said = self._line()
            if "error" in said:
                raise UserError(str(said["error"]["desc"]))
            if "return" in said:
                return said["return"]


def cut(path: Path, drive: str) -> str:
    """Cuts the power of the flash device with that id; says what it has lost by that."""
    with contextlib.closing(Monitor(path)) as monitor:
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
