/*
 * Devices one by one, and whole cores: which of a node's a task holds, and which it would get.
 *
 * A device is (node, class, uuid) of 1,000 thousandths, so whole and shared use never meet on
 * one. A node that has device objects of a class offers what they make: each that may be given
 * out whole, each other just what is held of it, so that free never goes below zero. A node
 * without them has a plain count, and nothing here is asked of it.
 *
 * A task that holds an amount of a class without a device's name is counted against the devices
 * that nobody holds, the last first: one that may be in use is never given out.
 */
#ifndef ENGINE_DEVICES_H
#define ENGINE_DEVICES_H

#include "engine/room.h"

enum { DEVICE_MILLI = 1000 };

/* --- The model's part */

/** Takes over the kept object under the key (NULL ends it) and joins it to its node. */
void device_put(struct model *model, const char *key, const struct berth_device *like, void *kept);
/** What a known node offers of the classes of which it has devices. */
void devices_offer(struct model *model, struct node *node);
/** What a told task without amounts takes: its class's, with what its shares make; yours. */
struct asks devices_charge(struct model *model, const struct kind *kind,
                           const struct berth_task *told);

/** Finds what a told task holds among the node's devices and cores. */
void hold_resolve(struct task *task, const struct node *node);
/** Adds what a task holds to its node's devices and cores, `sign` times. */
void hold_count(const struct task *task, int sign);
/** Forgets who holds what on a node, before its devices or cores change. */
void holds_drop(struct node *node);
/** Finds it anew, and what the node then offers if it is known. */
void holds_join(struct model *model, struct node *node);

static inline bool device_is_off(const struct device *device)
{
    return device->kept->unhealthy || device->kept->quarantined;
}

/* --- What a class of tasks finds */

/** Whether a node has the devices that a class of tasks wants, in use or not. */
enum wait_code devices_suit(const struct session *s, const struct kind *kind,
                            const struct node *node);
/** What of devices and cores is short; as room_odd. */
fail_t devices_room(const struct model *model, const struct kind *kind, const struct node *node,
                    bool *idle);
/** The place of the model that a task would get in its list; smaller is better. */
uint32_t devices_rank(const struct session *s, const struct kind *kind, const struct node *node);
/** Chooses devices and cores for a task that fits, in an arena; NULL if none has a name. */
const struct hold *devices_choose(struct session *s, const struct kind *kind,
                                  const struct node *node, bool idle, struct arena *arena);
/** Works out what node->brief says. */
void devices_brief(struct node *node);
/** What of a device may be given out, now or once what is being freed is free. */
int64_t device_free(const struct device *device, bool idle);
/** Thousandths of a device that so much of its memory makes. */
int64_t device_part(const struct device *device, int64_t memory);
/** Whether the device is one that a class of tasks can use, by model and memory. */
bool device_suits(const struct model *model, const struct kind *kind, const struct device *device);
/** How many whole cores a class of tasks wants. */
size_t kind_n_cores(const struct kind *kind);
/** The dimension of which a class of tasks wants single devices or cores. */
uint32_t kind_device_dim(const struct model *model, const struct kind *kind);
/**
 * What a queue must have for a task: its asks and, where it asks for memory of a device, the most
 * that this is of any device.
 */
const struct asks *kind_charge(const struct model *model, const struct kind *of);
/** A kind as that one, which asks and is charged for these amounts; they are borrowed. Of a session: it is not
 * freed, and no device may come or go while it is used. */
struct kind kind_asking(const struct model *model, const struct kind *like, struct asks asks);

/** The devices and cores of a hold on a node, in an arena. */
void hold_show(const struct model *model, const struct node *node, const struct hold *hold,
               struct arena *arena, struct berth_part *out);
/** How much of a node's devices and which of its cores are held, into a view of it. */
void devices_show(const struct node *node, struct arena *arena, struct berth_node_view *out);

#endif
