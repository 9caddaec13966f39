/*
 * For programs that need the same memory again and again.
 */
#ifndef BASE_MEM_KEEP_H
#define BASE_MEM_KEEP_H

/**
 * Keeps up to 64 MiB that were freed instead of giving them back to the system at once: pages that
 * a cycle of the engine touches first cost it more than what it decides on them.
 */
void mem_keep(void);

#endif
