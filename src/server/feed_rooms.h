/*
 * Feed, held room: reservations of the ledger as the engine's. An owner has one at most, so its
 * key there is `r-` and the owner's.
 */
#ifndef SERVER_FEED_ROOMS_H
#define SERVER_FEED_ROOMS_H

#include "base/map.h"
#include "server/feed.h"

struct feed_rooms {
    struct map by_job; /* job number to struct rooms */
    VEC_OF(uint64_t) touched;
};

void feed_rooms_forget(struct feed_rooms *rooms);
void feed_rooms_reservation(struct feed_rooms *rooms, const struct row_reservation *row);
void feed_rooms_part(struct feed_rooms *rooms, const struct row_part *row);
/** Adds the deltas of what was touched since; names of groups are the feed's. */
void feed_rooms_tell(struct feed_rooms *rooms, const struct feed *feed, struct arena *arena,
                     struct feed_deltas *deltas);
/** The open reservation of a job; false if there is none. */
bool feed_rooms_find(const struct feed_rooms *rooms, uint64_t job, struct feed_reservation *out);
/** When the first of them is let go as things stand; BERTH_NEVER if none is. */
int64_t feed_rooms_next_end(const struct feed_rooms *rooms);
/** Those that should have been by now, at most so many, by job. */
size_t feed_rooms_over(const struct feed_rooms *rooms, int64_t now_ms, struct feed_reservation *out,
                       size_t most);

#endif
