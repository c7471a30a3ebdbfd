# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU without a guest: the qtest protocol, and QMP (scarplib.guest.qmp)."""

from __future__ import annotations

import base64
import contextlib
import json
import mmap
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from patience import Patience
from qemu.qmp import ConnectError, ExecuteError
from scarplib.guest.qmp import Monitor, MonitorClosed

RAM_BYTES = 128 << 20
# A QEMU that has neither answered nor ended after so many seconds of its own hangs (patience.py).
HANG_S = 300.0
# After so long without an answer its threads are looked at.
QUIET_S = 1.0


class MachineDied(Exception):
    """QEMU ended while it was still needed."""


class MachineHangs(Exception):
    """QEMU neither goes on nor ends, though nobody keeps it from that."""


def said(stderr: str) -> str:
    """What QEMU said, without how one with the address sanitizer begins."""
    return re.sub(r"^==\d+==WARNING: ASan doesn't fully support .*\n", "", stderr).strip()


def monitor_arguments(connection: socket.socket) -> list[str]:
    """QEMU's, whose end of a pair of sockets this is; it must be passed on to QEMU."""
    return [
        "-chardev",
        f"socket,id=qmp,fd={connection.fileno()}",
        "-mon",
        "chardev=qmp,mode=control",
    ]


def connected(
    connection: socket.socket, process: subprocess.Popen[str], patience: Callable[[], Patience]
) -> Monitor:
    """The session at the other end of that pair, once QEMU has greeted."""
    try:
        return Monitor(connection, patience)
    except TimeoutError:
        process.kill()
        raise MachineDied("QEMU did not greet") from None
    except ConnectError:
        raise MachineDied("QEMU did not start") from None


def asked(monitor: Monitor, execute: str, **arguments: object) -> Any:
    """What QEMU returns; a command that it refuses is an AssertionError."""
    try:
        return monitor.ask(execute, **arguments)
    except ExecuteError as error:
        raise AssertionError(f"QMP {execute}: {error}") from None
    except TimeoutError:
        raise MachineHangs("QEMU does not answer") from None
    except MonitorClosed:
        raise MachineDied("QEMU closed its socket") from None


class LineSocket:
    """A listening unix socket that QEMU connects to, line by line."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._socket: socket.socket | None = None
        self._pending = b""

    def accept(self, process: subprocess.Popen[str], hang_s: float) -> None:
        self._pid, self.hang_s = process.pid, hang_s
        patience = Patience(process.pid, hang_s)
        self._listener.settimeout(0.1)
        while not self._socket:
            try:
                self._socket, _ = self._listener.accept()
            except TimeoutError:
                if process.poll() is not None:
                    raise MachineDied("QEMU did not start") from None
                if not patience.spend(0.1):
                    process.kill()
                    raise MachineDied("QEMU did not connect") from None
        self._socket.settimeout(QUIET_S)

    def send(self, text: str) -> None:
        assert self._socket is not None
        rest = memoryview(text.encode() + b"\n")
        patience = None
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except TimeoutError:
                # Made only here: it reads /proc, which costs as much as a command.
                patience = patience or Patience(self._pid, self.hang_s)
                if not patience.spend(QUIET_S):
                    raise MachineHangs("QEMU takes no more commands") from None

    def readline(self) -> str:
        assert self._socket is not None
        patience = None
        while b"\n" not in self._pending:
            try:
                data = self._socket.recv(1 << 20)
            except TimeoutError:
                patience = patience or Patience(self._pid, self.hang_s)
                if not patience.spend(QUIET_S):
                    raise MachineHangs("QEMU does not answer") from None
                continue
            if not data:
                raise MachineDied("QEMU closed its socket")
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        return line.decode()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._listener.close()


class Machine:
    """One QEMU process under the control of a test.

    Its memory is mapped here, too: only registers and time go through qtest's socket.
    """

    hang_s = HANG_S

    def __init__(self, qemu: Path, args: list[str]) -> None:
        # A file in /dev/shm could be larger than what is free there, and its writer is killed then.
        handle = os.memfd_create("scarp-qtest")
        try:
            os.ftruncate(handle, RAM_BYTES)
            self.memory = mmap.mmap(handle, RAM_BYTES)
            self._start(qemu, args, handle)
        finally:
            os.close(handle)

    def _start(self, qemu: Path, args: list[str], memory: int) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="scarp-qtest-"))
        bios = self.dir / "bios.bin"
        bios.write_bytes(bytes(128 << 10))  # never executed: no firmware needed
        self._qtest = LineSocket(self.dir / "qtest")
        ours, theirs = socket.socketpair()
        self._stderr = (self.dir / "stderr").open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [
                str(qemu),
                "-machine",
                "q35,accel=qtest",
                "-nodefaults",
                "-no-user-config",
                "-display",
                "none",
                "-m",
                str(RAM_BYTES >> 20),
                "-object",
                f"memory-backend-file,id=ram0,share=on,size={RAM_BYTES}"
                f",mem-path=/proc/self/fd/{memory}",
                "-machine",
                "memory-backend=ram0",
                "-bios",
                str(bios),
                "-global",
                "apic-common.vapic=off",
                "-qtest",
                f"unix:{self.dir}/qtest",
                "-qtest-log",
                "none",
                *monitor_arguments(theirs),
                *[arg.replace("{dir}", str(self.dir)) for arg in args],
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            text=True,
            pass_fds=[memory, theirs.fileno()],
        )
        # Once QEMU has ended nobody has it open.
        theirs.close()
        self._monitor: Monitor | None = None
        self._free = 1 << 20
        try:
            self._monitor = connected(ours, self.process, self._patience)
            self._qtest.accept(self.process, self.hang_s)
        except MachineDied as died:
            self.ended()
            message = f"{died}: {self.stderr()}"
            self.close()
            raise MachineDied(message) from None

    def stderr(self) -> str:
        self._stderr.flush()
        return said((self.dir / "stderr").read_text(encoding="utf-8"))

    # ---- qtest ----

    def command(self, text: str) -> str:
        self._qtest.send(text)
        while (line := self._qtest.readline()).startswith("IRQ"):
            pass
        if not line.startswith("OK"):
            raise AssertionError(f"qtest: {text[:80]}: {line}")
        return line[3:]

    def outl(self, port: int, value: int) -> None:
        self.command(f"outl {port:#x} {value:#x}")

    def inl(self, port: int) -> int:
        return int(self.command(f"inl {port:#x}"), 16)

    def writel(self, addr: int, value: int) -> None:
        self.command(f"writel {addr:#x} {value:#x}")

    def readl(self, addr: int) -> int:
        return int(self.command(f"readl {addr:#x}"), 16)

    def write(self, addr: int, data: bytes) -> None:
        if addr + len(data) <= RAM_BYTES:
            self.memory[addr : addr + len(data)] = data
            return
        text = base64.b64encode(data).decode()
        self.command(f"b64write {addr:#x} {len(data):#x} {text}")

    def read(self, addr: int, size: int) -> bytes:
        if addr + size <= RAM_BYTES:
            return self.memory[addr : addr + size]
        return base64.b64decode(self.command(f"b64read {addr:#x} {size:#x}"))

    def step(self, nanoseconds: int) -> int:
        """Let time pass; returns the new time."""
        return int(self.command(f"clock_step {nanoseconds}"))

    def step_to_next(self) -> int:
        """Let time pass until the next timer of the machine."""
        return int(self.command("clock_step"))

    def round_trip(self) -> None:
        """QEMU's main loop has had a turn, and what it was told before is done."""
        self.command("endianness")

    def alloc(self, size: int) -> int:
        """Page-aligned guest memory; never freed."""
        addr = self._free
        self._free += (size + 4095) & ~4095
        assert self._free <= RAM_BYTES
        return addr

    # ---- QMP ----

    def _patience(self) -> Patience:
        return Patience(self.process.pid, self.hang_s)

    def qmp(self, execute: str, **arguments: object) -> object:
        assert self._monitor is not None
        return asked(self._monitor, execute, **arguments)

    def stats(self, flash: str = "f0") -> dict[str, Any]:
        text = self.qmp("qom-get", path=f"/machine/peripheral/{flash}", property="stats")
        assert isinstance(text, str)
        stats: dict[str, Any] = json.loads(text)
        return stats

    def peripherals(self) -> list[str]:
        """The devices that have an id."""
        found = self.qmp("qom-list", path="/machine/peripheral")
        assert isinstance(found, list)
        return [each["name"] for each in found]

    # ---- what is not at once ----

    def give_up_after(self, seconds: float) -> None:
        """It hangs from now on when so many seconds of its own have passed."""
        self.hang_s = self._qtest.hang_s = seconds

    def looks(self) -> Iterator[None]:
        """A turn for each look at what is waited for, until QEMU hangs.

        Its memory outlives it here: who looks only at that would not see that it has ended.
        """
        for _ in Patience(self.process.pid, self.hang_s).looks():
            ended = self.process.poll() is not None
            yield
            if ended:
                raise MachineDied("QEMU has ended")

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """On the host's clock; `what` is it that never comes, otherwise."""
        for _ in self.looks():
            if holds():
                return
        raise AssertionError(f"never: {what}")

    # ---- the end ----

    def ended(self) -> int:
        """Wait for its end, and return its exit status."""
        patience = Patience(self.process.pid, self.hang_s)
        while True:
            try:
                return self.process.wait(QUIET_S)
            except subprocess.TimeoutExpired:
                if not patience.spend(QUIET_S):
                    raise MachineHangs("QEMU does not end") from None

    def quit(self) -> int:
        """End QEMU in an orderly way and return its exit status."""
        # It may end before it has answered.
        with contextlib.suppress(MachineDied):
            self.qmp("quit")
        return self.ended()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._qtest.close()
        if self._monitor:
            self._monitor.close()
            self._monitor = None
        self._stderr.close()
        self.memory.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def start_fails(qemu: Path, args: list[str]) -> str:
    """Start QEMU with arguments that must be refused; returns stderr."""
    with tempfile.TemporaryDirectory(prefix="scarp-qtest-") as folder:
        bios = Path(folder) / "bios.bin"
        bios.write_bytes(bytes(128 << 10))
        # a QEMU that starts against expectation obeys "quit" and ends with 0
        done = subprocess.run(
            [
                str(qemu),
                "-machine",
                "q35,accel=qtest",
                "-nodefaults",
                "-no-user-config",
                "-display",
                "none",
                "-bios",
                str(bios),
                "-global",
                "apic-common.vapic=off",
                "-monitor",
                "stdio",
                *args,
            ],
            input="quit\n",
            capture_output=True,
            text=True,
            timeout=HANG_S,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    if done.returncode == 0:
        raise AssertionError("QEMU started")
    return said(done.stderr)
