/*
 * Records that the directories of ftl/ hand to each other by pointer. Only the
 * directory that owns a record knows its members.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FORWARD_H
#define SCARP_FORWARD_H

typedef struct ScarpCmdQueue ScarpCmdQueue; /* core: of NVMe commands */
typedef struct ScarpFlashCmd ScarpFlashCmd; /* nand */
typedef struct ScarpUnit ScarpUnit;         /* pack */
typedef struct ScarpGcJob ScarpGcJob;       /* gc */

#endif /* SCARP_FORWARD_H */
