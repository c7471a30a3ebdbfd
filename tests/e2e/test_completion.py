# SPDX-License-Identifier: GPL-2.0-or-later
"""What bash and zsh offer, by their own means, for the `scarp` command."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCARP = ROOT / "scripts" / "scarp"
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402
from scarplib.guest.image import ensure_sysroot, loader  # noqa: E402

# As readline calls it: words ended by blanks, '=' and ':', the word under the cursor last.
_BASH = r"""
source <(scripts/scarp completion bash)
complete -p scarp >/dev/null || exit 9
COMP_LINE="$1" COMP_POINT=${#1}
apart="${1//=/ = }"
read -ra COMP_WORDS <<<"${apart//:/ : }"
[[ $1 == *[[:space:]] ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_scarp
printf '%s\n' "${COMPREPLY[@]}"
"""
# What the line editor has besides: its own programs are for a terminal.
_ZSH = r"""
compdef() { : }
compadd() { print -l -- $found }
_files() { print -l -- files }
source =(scripts/scarp completion zsh)
words=(${(z)1}) CURRENT=$#words
_scarp
"""


def command(*words: str) -> list[str]:
    return subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()


class Completion(unittest.TestCase):
    def setUp(self) -> None:
        replayer.ensure_replay()

    def bash(self, line: str) -> list[str]:
        return [x for x in command("bash", "-c", _BASH, "bash", line) if x]

    def test_bash(self) -> None:
        self.assertIn("replay", self.bash("scripts/scarp "))
        self.assertEqual(self.bash("scripts/scarp sche"), ["schemes"])
        self.assertEqual(self.bash("scripts/scarp run --schemes baseline,pg"), ["baseline,pgc"])
        self.assertEqual(self.bash("scripts/scarp replay -s gc-vic+pg"), ["gc-vic+pgc"])
        # Behind a ':' bash has a word of its own, and replaces that alone.
        self.assertEqual(self.bash("scripts/scarp run --schemes pgc,d-choices:"), ["d="])
        self.assertEqual(self.bash("scripts/scarp run --schemes pgc:pg"), ["pgc_floor="])
        self.assertEqual(self.bash("scripts/scarp replay -o gc.v"), ["gc.victim_candidates="])
        self.assertEqual(self.bash("scripts/scarp run --set ftl.mapping=fast,gc.tr"),
                         ["fast,gc.trigger_free_blocks="])  # fmt: skip
        self.assertEqual(self.bash("scripts/scarp run --scheme"), ["--schemes"])
        self.assertEqual(self.bash("scripts/scarp run --clock=re"), ["realtime"])
        self.assertIn("--cmd-log", self.bash("scripts/scarp replay --c"))
        self.assertEqual(self.bash("scripts/scarp age devices/dem"), ["devices/demo.ini"])
        self.assertEqual(self.bash("scripts/scarp completion z"), ["zsh"])
        # A file's name is bash's own business.
        self.assertEqual(self.bash("scripts/scarp run --job fio-jobs/"), [])

    def test_zsh(self) -> None:
        """Debian's, whatever this host has."""
        root, _ = ensure_sysroot(("zsh",), "zsh")
        modules = next((root / "usr/lib").glob("*/zsh/*"))
        with tempfile.NamedTemporaryFile("w") as script:
            script.write(f"module_path=({modules})\n{_ZSH}")
            script.flush()
            shell = [*loader(root), str(root / "usr/bin/zsh"), "-f", script.name]
            for line, expected in (
                ("scripts/scarp sche", ["schemes"]),
                ("scripts/scarp run --schemes baseline,pg", ["baseline,pgc"]),
                ("scripts/scarp run --job fio-jobs/", ["files"]),
            ):
                self.assertEqual(command(*shell, line), expected, line)


if __name__ == "__main__":
    unittest.main()
