# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan on a description, in scarp-replay: each step is a run, from where the last ended."""

from __future__ import annotations

import json
import subprocess
import tempfile
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scarplib import scheme_text
from scarplib.device_logs import command_log, log_file
from scarplib.errors import UserError
from scarplib.own_drive import features
from scarplib.own_drive.plan import Known, Plan, Row, Step
from scarplib.own_drive.probe_file import Probe, Result, result

# So many times the requests in flight come after those whose latencies are wanted.
MORE = 4
_FORMAT = "csv:time=1:ns,op=2,offset=3,length=4"


@dataclass
class Traces:
    """The steps' requests as files for the replayer, written once for all drives of a size."""

    folder: Path
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def path(self, step: Step) -> Path:
        """Of this step."""
        path = self.folder / f"{step.name}.csv"
        if step.name not in self.rows:
            self.rows[step.name] = list(step.rows())
            lines = (
                f"{at},{op},{offset},{size}\n" for at, op, offset, size in self.rows[step.name]
            )
            path.write_text("".join(lines))
        return path


@dataclass
class Replayed:
    """A drive in the replayer: a program, what makes the drive, and where its state is kept."""

    replay: Path
    description: Path
    folder: Path
    options: tuple[str, ...] = ()
    scheme: str = "baseline"
    saved: Path | None = None
    # The description has other times than the drive that was saved.
    retimed: bool = False

    def _command(self) -> list[str]:
        command = [str(self.replay), "--quiet", *scheme_text.split(self.scheme).words()]
        if self.saved:
            command += ["--image", str(self.saved)]
        if not self.saved or self.retimed:
            command += ["--description", str(self.description)]
        return command + [word for option in self.options for word in ("--override", option)]

    def _run(self, words: list[str]) -> None:
        done = subprocess.run(
            [*self._command(), *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise UserError(f"{self.description}: {lines[-1].removeprefix('scarp-replay: ')}")

    def logical_bytes(self) -> int:
        """The drive's size; also a check that the description is one."""
        path = self.folder / "size.json"
        self._run(["--json", str(path), "--requests", "1", "gen:uniform,requests=1"])
        size: int = json.loads(path.read_text())["stats"]["logical_bytes"]
        return size

    def run(self, step: Step, traces: Traces) -> Result:
        """One step."""
        log, output = self.folder / "cmd.bin", self.folder / "replay.json"
        words = ["--json", str(output), "--format", _FORMAT]
        if not step.prepares:
            words += ["--cmd-log", str(log)]
        words += ["--mode", "closed" if step.depth else "open", "--depth", str(step.depth or 1)]
        following = self.folder / f"{step.name}.img"
        if step.changes:
            words += ["--save", str(following)]
        self._run([*words, str(traces.path(step))])
        if step.changes:
            # Another's stays.
            if self.saved and self.saved.parent == self.folder:
                self.saved.unlink()
            self.saved = following
        if step.prepares:
            seen = json.loads(output.read_text())
            seconds = seen["drive_ns"] / 1e9
            return Result(seen["measured_bytes"] / seconds, seen["requests_per_s"])
        rows = traces.rows[step.name]
        submit, complete = _times(log, len(rows))
        log.unlink()
        return result(rows, submit, complete, each=step.each, closed=step.depth is not None)

    def begin(self, step: Step, traces: Traces, requests: int) -> list[int]:
        """Latencies of the first requests of a closed step, of which hardly more are made."""
        log, output = self.folder / "cmd.bin", self.folder / "replay.json"
        assert step.depth
        path, rows = traces.path(step), traces.rows[step.name]
        found: list[int] = []
        requests, more = min(requests, len(rows)), MORE * step.depth
        while len(found) < requests:
            count = min(len(rows), requests + more)
            words = ["--json", str(output), "--format", _FORMAT, "--cmd-log", str(log)]
            words += ["--mode", "closed", "--depth", str(step.depth), "--requests", str(count)]
            self._run([*words, str(path)])
            submit, complete = _times(log, count)
            log.unlink()
            # Of what is done when the last comes, those that are not made change nothing.
            last = max(submit) if count < len(rows) else max(complete)
            done = next((i for i, end in enumerate(complete) if end > last), count)
            found = [complete[i] - submit[i] for i in range(done)]
            more *= MORE
        return found[:requests]

    def erases(self) -> int:
        """Of the last step."""
        found: int = json.loads((self.folder / "replay.json").read_text())["stats"]["erases"]
        return found


def _times(path: Path, n: int) -> tuple[array[int], array[int]]:
    """Of each request, in the order of submission: when it came, and when it was done."""
    submit, complete = array("q", bytes(8 * n)), array("q", bytes(8 * n))
    size = command_log.layout(path).row.size
    at = {name: 0 for name, _ in command_log.LAYOUT.columns}
    place = 0
    for name, code in command_log.LAYOUT.columns:
        at[name] = place
        place += array(code).itemsize
    for chunk in log_file.chunks(path, command_log.layout(path)):
        quads, words = array("q", chunk), array("I", chunk)
        orders = words[at["order"] // 4 :: size // 4]
        begins = quads[at["submit"] // 8 :: size // 8]
        ends = quads[at["complete"] // 8 :: size // 8]
        for order, begin, end in zip(orders, begins, ends, strict=True):
            number = order & command_log.ORDER_SEQ
            submit[number], complete[number] = begin, end
    return submit, complete


def probe(
    drive: Replayed,
    plan: Plan,
    *,
    traces: Traces | None = None,
    known: Known | None = None,
    size: int = 0,
    held_out: bool = False,
    say: Callable[[str], None] = lambda _: None,
    only: Sequence[str] = (),
) -> Probe:
    """The whole plan, or those of its steps that are named."""
    with tempfile.TemporaryDirectory(prefix="scarp-plan-") as scratch:
        traces = traces or Traces(Path(scratch))
        found = Probe(
            {"kind": "description", "bytes": size or drive.logical_bytes()},
            plan.span,
            plan.seed,
            known,
        )

        def steps(wanted: list[Step]) -> None:
            for step in wanted:
                if only and step.name not in only:
                    continue
                say(step.name)
                done = drive.run(step, traces)
                if not step.prepares:
                    found.results[step.name] = done

        steps(plan.first())
        if not found.known:
            found.known = features.known(found)
        steps(plan.second(found.known))
        if held_out:
            steps(plan.held_out())
    return found
