# SPDX-License-Identifier: GPL-2.0-or-later
"""As much of gdb's remote protocol as a debugger with breakpoints needs, over a Unix socket."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path
from types import TracebackType

# Signals of a stop reply: a breakpoint or a step, and the interrupt that a debugger sends.
TRAP, INTERRUPT = 5, 2


class Ended(Exception):
    """The machine ended in place of stopping."""


class Gdb:
    """A connection to QEMU's gdbstub; the machine stands still unless resume() was called."""

    def __init__(self, path: Path) -> None:
        while not path.exists():
            time.sleep(0.01)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._read = b""
        self.command("?")

    def __enter__(self) -> Gdb:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def _byte(self) -> bytes:
        if not self._read:
            try:
                self._read = self._socket.recv(4096)
            except ConnectionError:
                self._read = b""
            if not self._read:
                raise Ended
        byte, self._read = self._read[:1], self._read[1:]
        return byte

    def _reply(self) -> str:
        while self._byte() != b"$":
            pass
        text = b""
        while (byte := self._byte()) != b"#":
            text += byte
        self._byte()
        self._byte()
        # QEMU tells of its end, and does not wait for an answer.
        with contextlib.suppress(ConnectionError):
            self._socket.sendall(b"+")
        return text.decode()

    def _send(self, text: str) -> None:
        self._socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())

    def command(self, text: str) -> str:
        """The answer to a command that does not resume the machine."""
        self._send(text)
        return self._reply()

    def _done(self, text: str) -> None:
        answer = self.command(text)
        if answer != "OK":
            raise AssertionError(f"gdbstub: {text}: '{answer}'")

    def insert(self, address: int) -> None:
        self._done(f"Z0,{address:x},1")

    def remove(self, address: int) -> None:
        self._done(f"z0,{address:x},1")

    def read(self, address: int) -> int:
        """A number of 64 bits in the guest's memory."""
        return int.from_bytes(bytes.fromhex(self.command(f"m{address:x},8")), "little")

    def write(self, address: int, value: int) -> None:
        self._done(f"M{address:x},8:{value.to_bytes(8, 'little').hex()}")

    def rip(self) -> int:
        """Where the CPU stands: register 16 of x86-64."""
        return int.from_bytes(bytes.fromhex(self.command("p10")), "little")

    def resume(self) -> None:
        self._send("c")

    def interrupt(self) -> None:
        self._socket.sendall(b"\x03")

    def stopped(self) -> int:
        """Wait until the machine stops: the signal; Ended if QEMU ends instead."""
        reply = self._reply()
        if reply[:1] == "W":
            raise Ended
        return int(reply[1:3], 16)

    def step(self) -> int:
        self._send("s")
        return self.stopped()
