# SPDX-License-Identifier: GPL-2.0-or-later
# Verdicts go to the console: what was said before a guest hangs or panics is known.

say() { # begin|pass|fail|skip|absent NAME [WHY...]
    echo "conformance: $*" >/dev/console
}
