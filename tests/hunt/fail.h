/*
 * Why a law is broken, as a line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_FAIL_H
#define HUNT_FAIL_H

#include "scarp.h"

/* Sets *error, and returns false. */
bool fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

#endif /* HUNT_FAIL_H */
