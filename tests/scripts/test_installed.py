# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read of packages' scripts and declarations, and what a root then has."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.guest import installed  # noqa: E402

_SERVER = r"""#!/bin/sh
USER=server
LOGS=/var/log/server
if [ "$1" = configure ]; then
    [ "$DPKG_MAINTSCRIPT_PACKAGE" ] && quiet="--quiet"
    if ! getent passwd server > /dev/null; then
        adduser --system $quiet --home /var/lib/server --no-create-home \
            --shell /bin/bash --group --gecos "A server, its name" server
    fi
    # adduser --system commented
    adduser $quiet server certificates || true
    adduser --system --home "$UNKNOWN" --group "$NAME"
    useradd -r -d /srv -s /usr/sbin/nologin -c 'Another' -u 77 other
    mkdir -p $LOGS; chown root:$USER "$LOGS" && chmod 2770 /var/log/server
    [ -d /run/server ] || install -d -m 2775 -o server -g server /run/server
    if ! dpkg-statoverride --list /usr/bin/run >/dev/null; then
        dpkg-statoverride --update --add root server 4750 /usr/bin/run
    fi
    chown -R server: /missing
    update-alternatives --install /usr/bin/pager pager /usr/bin/small 10 \
        --slave /usr/share/p.1 p.1 /usr/share/small.1
fi
"""
_OTHER = """addgroup --quiet --system --force-badname certificates
update-alternatives --quiet --install /usr/bin/pager pager /usr/bin/large 20
update-alternatives --install /usr/bin/pager pager /usr/bin/not-there 90
"""


class Installed(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("usr/share/base-passwd", "usr/lib/sysusers.d", "usr/lib/tmpfiles.d",
                     "usr/bin", "var/log/server", "run", "etc/pam.d"):  # fmt: skip
            (self.root / name).mkdir(parents=True)
        (self.root / "bin").symlink_to("usr/bin")
        (self.root / "var/run").symlink_to("/run")
        self.file("usr/share/base-passwd/passwd.master", "root:*:0:0:root:/root:/bin/bash\n")
        self.file("usr/share/base-passwd/group.master", "root:*:0:\nshadow:*:42:\nusers:*:100:\n")
        for name in ("run", "small", "large", "bash"):
            self.file(f"usr/bin/{name}")

    def file(self, name: str, text: str = "") -> None:
        (self.root / name).write_text(text)

    def made(self, **scripts: str) -> tuple[installed.Installed, list[str]]:
        made = installed.read(self.root, scripts)
        return made, installed.apply(self.root, made)

    def test_a_servers_script(self) -> None:
        made, lines = self.made(server=_SERVER, tools=_OTHER)
        passwd = (self.root / "etc/passwd").read_text().splitlines()
        ids = {line.split(":")[0]: line.split(":") for line in passwd}
        groups = dict(
            (line.split(":")[0], line.split(":"))
            for line in (self.root / "etc/group").read_text().splitlines()
        )
        self.assertEqual(list(ids), ["root", "server", "other"])
        self.assertEqual(ids["server"][4:], ["A server, its name", "/var/lib/server", "/bin/bash"])
        self.assertEqual(ids["server"][3], groups["server"][2])
        self.assertNotIn(ids["server"][2], ("0", "42", "100"))
        self.assertEqual(groups["certificates"][3], "server")
        self.assertEqual((ids["other"][2], ids["other"][5]), ("77", "/srv"))
        uid, gid = ids["server"][2], groups["server"][2]
        self.assertIn(f"var/log/server m 2770 0 {gid}", lines)
        self.assertIn(f"run/server m 2775 {uid} {gid}", lines)
        self.assertIn(f"usr/bin/run m 4750 0 {gid}", lines)
        self.assertIn("etc/shadow m 640 0 42", lines)
        self.assertFalse([line for line in lines if "missing" in line])
        # The largest priority of those that are there.
        self.assertEqual((self.root / "usr/bin/pager").readlink(), Path("/usr/bin/large"))
        self.assertIn("pam_unix", (self.root / "etc/pam.d/common-auth").read_text())
        # The same once more: the folder of packages is kept, and done again when this is changed.
        self.assertEqual(installed.apply(self.root, made), lines)

    def test_declarations(self) -> None:
        users = '# none\ng readers 555\nu! cache 600 "The cache" /var/cache/x\nm cache readers\n'
        folders = "d /var/run/cache 0750 cache readers - -\nf /run/file - - -\nD /run/plain\n"
        self.file("usr/lib/sysusers.d/a.conf", users)
        self.file("usr/lib/tmpfiles.d/a.conf", folders)
        _, lines = self.made()
        passwd = (self.root / "etc/passwd").read_text()
        self.assertIn("cache:x:600:600:The cache:/var/cache/x:/usr/sbin/nologin\n", passwd)
        self.assertIn("readers:x:555:cache\n", (self.root / "etc/group").read_text())
        # Through the link, which leads to a place in the guest, not on this host.
        self.assertIn("run/cache m 750 600 555", lines)
        self.assertTrue((self.root / "run/plain").is_dir())

    def test_a_shell_that_is_not_there(self) -> None:
        self.made(zsh="useradd -s /bin/zsh -m someone\n", none="useradd -s /bin/false daemon\n")
        passwd = (self.root / "etc/passwd").read_text()
        self.assertRegex(passwd, r"(?m)^someone:.*:/bin/sh$")
        self.assertRegex(passwd, r"(?m)^daemon:.*:/bin/false$")

    def test_what_only_running_it_could_tell(self) -> None:
        odd = 'for u in a b; do adduser --system "$u"; done\nchown `id -u` /etc\n'
        odd += "adduser --system 'not closed\nadduser\nchown x:y /etc/*\n"
        made, _ = self.made(odd=odd)
        self.assertEqual(list(made.users), ["root"])
        self.assertEqual(made.owners, {})


if __name__ == "__main__":
    unittest.main()
