# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian trixie's packages on whatever Debian or Ubuntu this is, without changing it.

A private apt state reads trixie's signed index from the mirror that the
machine itself uses; the machine's own sources and lists stay as they are.
Which versions: build/locks.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scarplib.build import locks
from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.host_packages import ensure_packages
from scarplib.errors import UserError

RELEASE = "trixie"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def _mirror() -> str:
    """The machine's own Debian mirror; elsewhere SCARP_DEBIAN_MIRROR names one."""
    if given := os.environ.get("SCARP_DEBIAN_MIRROR"):
        return given.rstrip("/")
    files = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    for path in files:
        if path.suffix not in (".list", ".sources") or not path.is_file():
            continue
        for line in path.read_text(errors="replace").splitlines():
            match = re.match(r"(?:URIs:|deb)\s+(?:\[[^]]*\]\s+)?(\S+://\S+)", line.strip())
            if match and re.search(r"/debian/?$", match.group(1)):
                return match.group(1).rstrip("/")
    raise UserError(
        "no Debian mirror in apt's sources: set SCARP_DEBIAN_MIRROR to one (…://…/debian)"
    )


class Apt:
    """apt-get and apt-cache with a state of their own."""

    _updated = False

    def __init__(self) -> None:
        self.state = cache_dir() / f"apt-{RELEASE}"
        self.archives = cache_dir() / "packages"
        for folder in (
            self.state / "lists" / "partial",
            self.state / "cache" / "archives" / "partial",
            self.archives,
        ):
            folder.mkdir(parents=True, exist_ok=True)
        (self.state / "status").touch()

    def _options(self) -> list[str]:
        values = {
            "Dir::Etc::sourcelist": self.state / "scarp.sources",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::Lists": self.state / "lists",
            "Dir::State::status": self.state / "status",
            "Dir::Cache": self.state / "cache",
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Debug::NoLocking": "true",
        }
        return [part for key, value in values.items() for part in ("-o", f"{key}={value}")]

    def _run(self, *command: str, cwd: Path | None = None) -> str:
        full = [command[0], *self._options(), *command[1:]]
        done = subprocess.run(full, capture_output=True, text=True, cwd=cwd, check=False)
        if done.returncode:
            lines = [x for x in done.stderr.splitlines() if x.startswith("E:")]
            raise UserError(f"{' '.join(command[:3])}: {lines[0] if lines else done.stderr[-300:]}")
        return done.stdout

    def update(self) -> None:
        """Fetch the signed index, once in a process."""
        if not _KEYRING.is_file():
            ensure_packages(("debian-archive-keyring",))
        sources = (
            f"Types: deb deb-src\nURIs: {_mirror()}\nSuites: {RELEASE}\n"
            f"Components: main\nSigned-By: {_KEYRING}\n"
        )
        # Several builders want it at the same time, and others read it: apt's own locks are off.
        with locked("apt"):
            if Apt._updated:
                return
            (self.state / "scarp.sources").write_text(sources)
            with step(f"Debian {RELEASE}'s package index"):
                self._run("apt-get", "update")
            Apt._updated = True

    def resolve(self, names: Sequence[str]) -> list[str]:
        """name=version of packages and all that they depend on, as apt resolves it today."""
        self.update()
        with locked("apt"):
            text = self._run("apt-get", "install", "--simulate", "--quiet", *names)
        return sorted(
            f"{name}={version}"
            for name, version in re.findall(r"^Inst (\S+) \((\S+) ", text, re.MULTILINE)
        )

    def closure(self, names: Sequence[str]) -> list[str]:
        """As the lock has it, or, for names that it has not, as apt resolves it.

        Where locked versions are gone, and that is allowed, all of them are apt's of today: what
        is left of the locked ones may not go with them.
        """
        found = locks.debian().closure(names)
        if found is None:
            return self.resolve(names)
        if self._gone(found):
            today = self.resolve(names)
            differing = locks.differences(found, today)
            if not locks.unlocked():
                raise locks.gone(differing, "Debian mirror")
            locks.take(differing)
            return today
        return found

    def _gone(self, packages: Sequence[str]) -> list[str]:
        """Those that neither the cache nor the mirror has."""
        missing = [x for x in packages if not self._path(*x.split("="))]
        if not missing:
            return []
        self.update()
        names = sorted({x.split("=")[0] for x in missing})
        with locked("apt"):
            found = re.findall(r"^ *(\S+) \| *(\S+) \| .* Packages$", self._versions(names), re.M)
        known = set(found)
        return [x for x in missing if tuple(x.split("=")) not in known]

    def _versions(self, names: Sequence[str]) -> str:
        """The mirror's, a line each; nothing of names that it has not."""
        command = ["apt-cache", *self._options(), "madison", *names]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def fetch(self, packages: Sequence[str]) -> dict[str, Path]:
        """The .deb of each name=version; apt verifies them against the signed index.

        A locked one is verified against the lock, too.
        """
        found: dict[str, Path] = {}
        missing = []
        for package in packages:
            name, version = package.split("=")
            path = self._path(name, version)
            if path and self._is_locked(package, path):
                found[package] = path
            else:
                missing.append(package)
        if missing:
            self.update()
            with (
                locked("packages"),
                locked("apt"),
                step(f"{len(missing)} Debian packages"),
            ):
                self._download(self.archives, "download", "--quiet", *missing)
            for package in missing:
                path = self._path(*package.split("="))
                if not path:
                    raise UserError(f"apt-get download: no file for {package}")
                if wanted := locks.debian().sha256(package):
                    locks.check(path, f"{package.replace('=', ' ')} of the mirror", wanted)
                found[package] = path
        return found

    def _download(self, folder: Path, *command: str) -> None:
        """Of what apt-get writes here and then verifies, what is whole goes to the folder.

        It writes under the final name, where one that was killed would leave a short file.
        """
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            self._run("apt-get", *command, cwd=Path(fresh))
            for path in Path(fresh).iterdir():
                path.replace(folder / path.name)

    def _is_locked(self, package: str, path: Path) -> bool:
        """Whether a file of the cache is whole; what is not is fetched again."""
        wanted = locks.debian().sha256(package)
        if not wanted or locks.file_sha256(path) == wanted:
            return True
        path.unlink()
        return False

    def _path(self, name: str, version: str) -> Path | None:
        escaped = version.replace(":", "%3a")
        for architecture in ("amd64", "all"):
            path = self.archives / f"{name.split(':')[0]}_{escaped}_{architecture}.deb"
            if path.is_file():
                return path
        return None

    def source(self, name: str, folder: Path, version: str = "") -> None:
        """Download a source package's files (verified), unpacked by the caller.

        Of `version`, or of the locked one; of names that are not locked, today's.
        """
        lock = locks.debian().sources.get(name)
        wanted = version or (lock.version if lock else "")
        self.update()
        if wanted and wanted not in (known := self.source_versions(name)):
            today = {name: (wanted, known[0] if known else "nothing")}
            if version or not known or not locks.unlocked():
                raise locks.gone(today, "Debian mirror")
            locks.take(today)
            wanted = known[0]
        asked = f"{name}={wanted}" if wanted else name
        with locked("apt"), step(f"source of {name}"):
            self._download(folder, "source", "--download-only", "--quiet", asked)
        if lock and wanted == lock.version:
            for file, sha256 in lock.files.items():
                locks.check(folder / file, f"{file} of the mirror", sha256)

    def index(self, command: str, *names: str) -> str:
        """What apt-cache says of these."""
        self.update()
        with locked("apt"):
            return self._run("apt-cache", command, *names)

    def source_versions(self, name: str) -> list[str]:
        """The mirror's, newest first."""
        text = self.index("showsrc", "--only-source", name)
        return re.findall(r"^Version: (\S+)$", text, re.MULTILINE)
