# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp probe`: a description's by the replayer or in a guest, or a block device's."""

from __future__ import annotations

import argparse
import contextlib
import platform
import tempfile
from pathlib import Path

from scarplib.build.replayer import ensure_replay
from scarplib.errors import UserError, printable
from scarplib.own_drive import features, on_guest, on_replayer
from scarplib.own_drive.outputs import check_out, say
from scarplib.own_drive.plan import MIB, Plan, span_of
from scarplib.own_drive.probe_file import Probe, load


def _check_same_description(path: Path, drive: Path, guest: bool) -> None:
    """A description's probe replaces none of a device or of another description."""
    if not path.exists():
        return
    source = load(path).source
    named = printable(str(source.get("name") or "another drive"))
    wanted = on_guest.KIND if guest else "description"
    if (source.get("kind"), source.get("name")) != (wanted, drive.name):
        where = ", in a guest" if source.get("kind") == on_guest.KIND else ""
        raise UserError(
            f"--out: '{path}' is a probe of {named}{where}, not "
            f"of {drive.name}{', in a guest' if guest else ''}; name another file"
        )


def main(options: argparse.Namespace) -> int:
    """`scarp probe`; the exit status."""
    check_out("--out", options.out, options.drive)
    if options.drive.suffix != ".ini":
        if options.scheme or options.set or options.guest:
            raise UserError("--scheme, --set, --guest: are of a description; a device is as it is")
        from scarplib.own_drive import on_drive

        status = on_drive.main(options)
        # Of what is no drive, such as a file in RAM, not all can be read off.
        with contextlib.suppress(UserError):
            if not status and not (found := load(options.out)).left_out:
                print(_features_text(found))
        return status
    if options.destroy or options.minutes:
        raise UserError("--destroy, --minutes: are of a device; nothing of a description is lost")
    _check_same_description(options.out, options.drive, options.guest)
    found = _probed(options)
    found.source |= {
        "name": options.drive.name,
        "set": options.set,
        "scheme": options.scheme or "baseline",
        "host": platform.machine(),
    }
    found.write(options.out)
    print(_features_text(found))
    print(f"\n{options.out}: {len(found.results)} steps")
    return 0


def _probed(options: argparse.Namespace) -> Probe:
    """A description's, by the replayer in seconds or by a guest's block device in minutes."""
    with tempfile.TemporaryDirectory(prefix="scarp-probe-") as scratch:
        keys, scheme = tuple(options.set), options.scheme or "baseline"
        drive = on_replayer.Replayed(ensure_replay(), options.drive, Path(scratch), keys, scheme)
        size = drive.logical_bytes()
        span = span_of(options.drive, size, options.mib)
        if not options.guest:
            return on_replayer.probe(
                drive, Plan(span, options.seed), size=size, held_out=options.held_out, say=say
            )
    return on_guest.probe(
        on_guest.InGuest(options.drive, span // MIB, keys, scheme, options.seed, options.held_out)
    )


def _features_text(found: Probe) -> str:
    """What can be read off."""
    seen = features.read_off(found)
    times = " ".join(f"{one / 1000:.1f}" for one in seen.reads_ns)
    programs = " ".join(f"{one / 1000:.0f}" for one in seen.programs_ns)
    rows = [
        ("page", f"{seen.page} bytes"),
        ("mapping unit", f"{seen.unit} bytes" if seen.unit else "does not show"),
        ("stripe", f"{seen.stripe} bytes"),
        ("dies that work at once", str(seen.dies)),
        ("channels", str(seen.channels)),
        ("command without flash", f"{seen.base_ns / 1000:.1f} µs"),
        ("read of flash", f"{times} µs"),
        ("program", f"{programs} µs"),
        ("write buffer", f"about {seen.buffer / MIB:.1f} MiB" if seen.buffer else "none"),
        ("flush waits for data", "yes" if seen.flush_waits else "no"),
        ("reads suspend programs", "yes" if seen.suspends else "no"),
        ("reads go first", "yes" if seen.reads_first else "no"),
        (
            "mapping in RAM",
            f"of about {seen.map_cached / MIB:.0f} MiB" if seen.map_cached else "all",
        ),
    ]
    return "\n".join(f"{name:24}{value}" for name, value in rows)
