/*
 * Records that the directories of ftl/ hand to each other by pointer. Only the
 * directory that owns a record knows its members.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FORWARD_H
#define SCARP_FORWARD_H

typedef struct ScarpCmdQueue ScarpCmdQueue; /* core: a queue of NVMe commands */
typedef struct ScarpFlashCmd ScarpFlashCmd; /* nand: a flash command */
typedef struct ScarpUnit ScarpUnit;         /* pack: a unit in RAM */
typedef struct ScarpGcJob ScarpGcJob;       /* gc: a collection or a merge */

#endif /* SCARP_FORWARD_H */
