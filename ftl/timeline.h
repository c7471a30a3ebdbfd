/*
 * Timeline: a drive's activity, as a trace that Perfetto shows.
 *
 * A timeline is an observer that writes commands, flash commands and
 * collections in Perfetto's protobuf format (Trace, TracePacket, TrackEvent),
 * which ui.perfetto.dev opens and trace_processor queries. Each channel has a
 * track with its transfers. Each plane has a track with its array times, and a
 * track with its collections. NVMe commands have as many tracks as commands
 * were in flight at once. Flows lead from a command through the flash commands
 * that served it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_TIMELINE_H
#define SCARP_TIMELINE_H

#include "scarp.h"

typedef struct ScarpTimeline ScarpTimeline;

/* Takes the bytes of the trace piece by piece, some KiB at a time. */
typedef void (*ScarpTimelineSink)(void *opaque, const void *bytes, size_t n);

/*
 * Makes a timeline of everything that begins at from_ns or later, and before
 * to_ns, in the drive's time. The timeline must live as long as the drive is
 * observed.
 */
ScarpTimeline *scarp_timeline_new(const ScarpDrive *drive, int64_t from_ns,
                                  int64_t to_ns, ScarpTimelineSink sink,
                                  void *opaque);
/*
 * Makes the timeline one of several in a file. Called before anything is
 * observed. `number` is the timeline's own, from 0 on. Its tracks lie below a
 * track with the name `name`.
 */
void scarp_timeline_group(ScarpTimeline *timeline, uint32_t number,
                          const char *name);
/*
 * Lets `timeline`, a ScarpTimeline, go on with the drive that comes up after a
 * power cut. This is a callback for scarp_on_power_cut().
 */
void scarp_timeline_follow(void *timeline, const ScarpDrive *drive);
/*
 * Returns the observer of the timeline. The caller gives it to
 * scarp_set_observer(), or calls it from an observer of its own.
 */
ScarpObserver scarp_timeline_observer(ScarpTimeline *timeline);
/* Gives the buffered bytes to the sink. */
void scarp_timeline_flush(ScarpTimeline *timeline);
/* Flushes and frees the timeline. */
void scarp_timeline_free(ScarpTimeline *timeline);

#endif /* SCARP_TIMELINE_H */
