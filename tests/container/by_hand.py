#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""container/Containerfile without a container engine: by_hand.py FOLDER, as root, with debootstrap.

Each stage is a Debian of its own below FOLDER, and each step is done in it with chroot, as the user
that the recipe names.  A chroot isolates less than a container, so what it shows is that the steps
are complete: what the recipe does not install is not there.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "container" / "Containerfile"
SUITES = {"debian:12": "bookworm", "debian:13": "trixie"}
# How this machine reaches the network.
NETWORK = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}


def steps() -> list[tuple[str, str]]:
    """Each line's first word, and the others."""
    text = RECIPE.read_text().replace("\\\n", " ")
    lines = [x.strip() for x in text.splitlines() if x.strip() and not x.startswith("#")]
    return [(x.split()[0], x.split(maxsplit=1)[1]) for x in lines]


class Stage:
    """A Debian of its own."""

    def __init__(self, folder: Path, image: str) -> None:
        self.folder, self.user, self.work = folder, "root", "/"
        self._do("debootstrap", "--variant=minbase", SUITES[image], str(folder))
        for name in NETWORK:
            if (Path("/") / name).is_file():
                shutil.copy(Path("/") / name, folder / name)
        for what in ("proc", "sys", "dev"):
            self._do("mount", "--rbind", f"/{what}", str(folder / what))
            self._do("mount", "--make-rslave", str(folder / what))
        self.certificates = {}
        if CERTIFICATES.is_file():
            own = folder / "var" / "tmp" / "certificates"
            shutil.copy(CERTIFICATES, own)
            own.chmod(0o644)
            self.certificates = {"PIP_CERT": "/var/tmp/certificates"}

    @staticmethod
    def _do(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def run(self, command: str) -> None:
        """In its work folder, as its user."""
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        began = time.monotonic()
        print(f"# {self.user}: {command}", flush=True)
        subprocess.run(
            ["chroot", f"--userspec={self.user}", "--groups=", str(self.folder), "/bin/sh", "-c",
             f"cd {shlex.quote(self.work)} && {command}"],
            env={**ENVIRONMENT, **self.certificates, "HOME": home},
            check=True,
        )  # fmt: skip
        print(f"# done in {time.monotonic() - began:.0f} s", flush=True)

    def copy(self, words: str, others: dict[str, Stage]) -> None:
        """COPY: a clone of the checkout, or what another stage has."""
        options = dict(x[2:].split("=") for x in words.split() if x.startswith("--"))
        source, target = (x for x in words.split() if not x.startswith("--"))
        place = f"{self.folder}{os.path.normpath(Path(self.work) / target)}"
        print(f"# copy {words}", flush=True)
        if "from" in options:
            self._do("cp", "-aT", f"{others[options['from']].folder}{source}", place)
        else:
            self._do("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), f"{place}/.clone")
            self._do("cp", "-aT", f"{place}/.clone", place)
            shutil.rmtree(f"{place}/.clone")
        owner = options["chown"]
        self._do("chroot", str(self.folder), "chown", "-R", f"{owner}:{owner}",
                 place.removeprefix(str(self.folder)))  # fmt: skip

    def close(self) -> None:
        """Nothing of the machine stays mounted in it."""
        for what in ("proc", "sys", "dev"):
            subprocess.run(["umount", "-R", "-l", str(self.folder / what)], check=False)


def main(folder: Path) -> None:
    """All steps; the first that fails ends it."""
    if os.geteuid() != 0:
        sys.exit("by_hand.py: only root may chroot")
    named: dict[str, Stage] = {}
    stage = None
    try:
        for step, words in steps():
            if step == "FROM":
                image, *rest = words.split()
                name = rest[-1] if rest else f"last{len(named)}"
                stage = named[name] = Stage(folder / name, image)
            elif stage is None:
                sys.exit(f"{RECIPE.name}: {step} before FROM")
            elif step == "RUN":
                stage.run(words)
            elif step == "USER":
                stage.user = words
            elif step == "WORKDIR":
                stage.work = words
            elif step == "COPY":
                stage.copy(words, named)
            elif step == "CMD":
                stage.run(" ".join(words.strip("[]").replace('"', "").split(", ")))
            else:
                sys.exit(f"{RECIPE.name}: {step}: not known here")
    finally:
        for one in named.values():
            one.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder.absolute())
