/*
 * For programs that need the same memory again and again, and more of it.
 */
#ifndef BASE_MEM_KEEP_H
#define BASE_MEM_KEEP_H

/**
 * Keeps up to 64 MiB that were freed instead of giving them back to the system at once: pages that
 * a cycle of the engine touches first cost it more than what it decides on them.
 */
void mem_keep(void);

/* How far a thread's memory was made ready. All zero: nothing was yet. The thread's own. */
struct mem_ahead {
    char *begin, *end;
};

/**
 * Makes memory ready for what this thread allocates next, a mebibyte at a time: by itself the
 * library asks the system for each page of a thread's memory, and the system brings each when it is
 * first touched. Costs a call of malloc where there is enough. Nothing before mem_keep.
 */
void mem_ahead(struct mem_ahead *ahead);

#endif
