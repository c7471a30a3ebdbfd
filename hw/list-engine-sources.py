# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's sources without the programs beside it, as Meson wants them: relative to hw/.

python3 list-engine-sources.py FTL: FTL is the engine's folder, beside hw/.
"""

import sys
from pathlib import Path

ftl = Path(sys.argv[1])
for path in sorted(ftl.rglob("*.c")):
    if path.relative_to(ftl).parts[0] not in ("replay", "rerun", "cuts", "why"):
        print("../ftl" / path.relative_to(ftl))
