/*
 * Lines: jobs that wait and are alike in all that decisions go by.
 *
 * A job of one group none of whose tasks has a place stands in a line with all that ask for as
 * much, are as urgent and run as long, by rank. While the first of a line finds no room none
 * behind it would: so a session looks at the first alone, and what it finds of it holds for all of
 * them. Deciding costs what changed and not how many wait; only to say of each why it waits still
 * does. Whoever else is to be looked at
 * (its groups are several, some of it runs, time may open it) is odd and stands alone.
 *
 * Lines are changed as the model is told, never by a session; one that places the first of a line
 * goes on to the next.
 */
#ifndef ENGINE_LINES_H
#define ENGINE_LINES_H

#include "engine/model.h"
#include "engine/session.h"

struct line {
    char *key;
    struct kind *kind; /* of all of them */
    struct job *first, *last;
    size_t n;
    size_t n_bent;     /* neighbours of which the later one was created first */
    uint32_t at;       /* its place in model->lines */
    struct job *head;  /* a session's own: from here on nobody was placed; with `seated` */
    bool is_usable;    /* likewise: what is found of its first holds for all */
    bool is_stuck;     /* likewise, of the action that runs: its first found no place */
    size_t said;       /* likewise: the place of the first one's verdict */
    struct job *stuck; /* likewise: the last of its first that found none, in any action */
    uint64_t seated;   /* by which session */
};

/** Puts a job where it belongs: into a line, among the odd, or nowhere. */
void lines_take(struct model *model, struct job *job);
/** Takes it out of where it is. */
void lines_drop(struct model *model, struct job *job);
void lines_fini(struct model *model);

/** Finds out which lines the session can use, and lists in s->watched whom to look at beside them. */
void lines_open(struct session *s);
/** Takes a job out of its line for the rest of the session: it is watched alone. */
void lines_part(struct session *s, struct job *job);
/** Likewise all of lines that have got a place since the last call. */
void lines_part_placed(struct session *s);
/** Puts s->watched into the order of ranks. */
void lines_sort(struct session *s);
/** Puts the first of each line among s->watched, in order: when nothing more is decided. */
void lines_watch_heads(struct session *s);
/** Whether a job stands in a line that could be used, and has no place. */
bool lines_hold(const struct session *s, const struct job *job);
/** Likewise, and the line is used: who is first says all of it. */
bool lines_cover(const struct session *s, const struct job *job);
/** The first of a line that has no place, or NULL. */
struct job *lines_head(struct session *s, struct line *line);

/* Whether it is looked at as a line. A cold cycle knows none: there each job has its own turn. */
static inline bool line_is_used(const struct session *s, const struct line *line)
{
    return line->seated == s->number && line->is_usable && !s->in.is_cold;
}

/* Walks the lines that are used; `break` only goes on to the next. */
#define LINE_EACH(each, s)                                                                         \
    for (size_t at_##each = 0; at_##each < (s)->model->lines.n; at_##each++)                       \
        for (struct line *each = (s)->model->lines.at[at_##each],                                  \
                         *once_##each = line_is_used(s, each) ? each : NULL;                       \
             once_##each; once_##each = NULL)

#endif
