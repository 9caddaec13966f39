#include "agent/life.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

static const char *const deed_words[] = {
    "prepare",   "cancel",    "ack",         "queue",   "unqueue",   "free", "start",
    "disarm",    "arm-start", "note",        "term",    "arm-grace", "kill", "arm-kill",
    "say-start", "clean",     "clean-later", "say-end", "retire",
};

/* What the words of a script stand for. */
static const struct exit_record exit_ok = { .has_started = true };
static const struct exit_record exit_3 = { .has_started = true, .code = 3 };
static const struct exit_record exit_143 = { .has_started = true, .code = 143 };
static const struct exit_record exit_kill = { .has_started = true, .signal = 9 };
static const struct exit_record exit_oom = { .has_started = true, .signal = 9, .is_oom = true };
static const struct exit_record exit_term = { .has_started = true, .signal = 15 };
static const struct exit_record exit_lease = { .has_started = true,
                                               .signal = 9,
                                               .is_lease_over = true };
static const struct exit_record exit_limit = { .has_started = true,
                                               .signal = 15,
                                               .is_limit_over = true };
static const struct exit_record exit_no_command = { .detail = DETAIL_COMMAND_NOT_FOUND,
                                                    .text = "no such file" };

static const struct {
    const char *word;
    struct life_news news;
} words[] = {
    { "cancel", { LIFE_STOP, .cause = CAUSE_CANCELLED, .grace_ms = 500 } },
    { "cancel-now", { LIFE_STOP, .cause = CAUSE_CANCELLED } },
    { "evict", { LIFE_STOP, .cause = CAUSE_EVICTED, .grace_ms = 1000 } },
    { "prepare-cancelled", { .event = LIFE_PREPARE_FAILED } },
    { "no-image", { LIFE_PREPARE_FAILED, .detail = DETAIL_IMAGE_ABSENT, .text = "no image" } },
    { "exit-0", { LIFE_EXITED, .exit = &exit_ok } },
    { "exit-3", { LIFE_EXITED, .exit = &exit_3 } },
    { "exit-143", { LIFE_EXITED, .exit = &exit_143 } },
    { "exit-kill", { LIFE_EXITED, .exit = &exit_kill } },
    { "exit-oom", { LIFE_EXITED, .exit = &exit_oom } },
    { "exit-term", { LIFE_EXITED, .exit = &exit_term } },
    { "exit-lease", { LIFE_EXITED, .exit = &exit_lease } },
    { "exit-limit", { LIFE_EXITED, .exit = &exit_limit } },
    { "exit-no-command", { LIFE_EXITED, .exit = &exit_no_command } },
};

static struct life_news news_of(const char *word)
{
    int event = states_find(word, life_event_words, LIFE_EVENT_COUNT);

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (text_eq(words[i].word, word))
            return words[i].news;
    CHECK(event >= 0);
    return (struct life_news){ .event = (enum life_event)event };
}

static void say_deeds(unsigned deeds, struct str *out)
{
    const char *between = "";

    if (!deeds)
        str_add(out, "-");
    for (size_t i = 0; i < COUNT_OF(deed_words); i++) {
        if (!(deeds & 1u << i))
            continue;
        str_addf(out, "%s%s", between, deed_words[i]);
        between = "+";
    }
}

/* Plays a script and says what was to be done, one word an event. */
static void play(struct life *life, enum life_begin begin, const char *script, struct str *out)
{
    CLEANUP(freep) char *copy = text_copy(script);
    char *rest = copy;

    say_deeds(life_begin(life, begin), out);
    for (char *word; (word = strsep(&rest, " "));) {
        struct life_news news = news_of(word);
        str_add(out, " ");
        say_deeds(life_on(life, &news), out);
    }
}

#define BY_THE_BOOK "stored acked prepared turn started"
#define STARTED     "prepare ack arm-start queue start free+disarm+say-start"
#define END_DEEDS   " disarm+clean say-end retire"

static const struct {
    const char *name;
    enum life_begin begin;
    const char *script, *deeds;
    enum cause cause;
    enum detail detail;
    int code, signal;
    bool is_silent;
} rows[] = {
    { "by the book", LIFE_DELIVERED, BY_THE_BOOK " exit-0 cleaned taken", STARTED END_DEEDS,
      CAUSE_COMPLETED, DETAIL_NONE, 0, 0, false },
    { "the preparation is faster than the ack", LIFE_DELIVERED,
      "stored prepared acked turn started exit-3 cleaned taken",
      "prepare ack - queue+arm-start start free+disarm+say-start" END_DEEDS, CAUSE_COMPLETED,
      DETAIL_NONE, 3, 0, false },
    { "refused while it is being prepared", LIFE_DELIVERED,
      "stored refused prepare-cancelled cleaned", "prepare ack cancel disarm+clean retire",
      CAUSE_NONE, DETAIL_NONE, 0, 0, true },
    { "refused when it is prepared", LIFE_DELIVERED, "stored prepared refused cleaned",
      "prepare ack - disarm+clean retire", CAUSE_NONE, DETAIL_NONE, 0, 0, true },
    { "no image, known before the ack is answered", LIFE_DELIVERED,
      "stored no-image acked cleaned taken", "prepare ack - disarm+clean say-end retire",
      CAUSE_START_FAILED, DETAIL_IMAGE_ABSENT, 0, 0, false },
    { "no image", LIFE_DELIVERED, "stored acked no-image cleaned taken",
      "prepare ack arm-start" END_DEEDS, CAUSE_START_FAILED, DETAIL_IMAGE_ABSENT, 0, 0, false },
    { "no image, and refused", LIFE_DELIVERED, "stored no-image refused cleaned",
      "prepare ack - disarm+clean retire", CAUSE_NONE, DETAIL_NONE, 0, 0, true },
    { "cancelled before the ack is answered: its answer is waited for", LIFE_DELIVERED,
      "stored cancel prepare-cancelled acked cleaned taken",
      "prepare ack cancel+note - disarm+clean say-end retire", CAUSE_CANCELLED, DETAIL_NONE, 0, 0,
      false },
    { "cancelled, yet prepared to its end", LIFE_DELIVERED,
      "stored acked cancel prepared cleaned taken", "prepare ack arm-start cancel+note" END_DEEDS,
      CAUSE_CANCELLED, DETAIL_NONE, 0, 0, false },
    { "cancelled while it waits for its turn", LIFE_DELIVERED,
      "stored acked prepared cancel turn cleaned taken",
      "prepare ack arm-start queue unqueue+disarm+note+clean - say-end retire", CAUSE_CANCELLED,
      DETAIL_NONE, 0, 0, false },
    { "cancelled while it starts", LIFE_DELIVERED,
      "stored acked prepared turn cancel started exit-term cleaned taken",
      "prepare ack arm-start queue start disarm+note+term+arm-grace free" END_DEEDS,
      CAUSE_CANCELLED, DETAIL_NONE, 0, 15, false },
    { "cancelled while it runs", LIFE_DELIVERED, BY_THE_BOOK " cancel exit-term cleaned taken",
      STARTED " disarm+note+term+arm-grace" END_DEEDS, CAUSE_CANCELLED, DETAIL_NONE, 0, 15, false },
    { "without a grace", LIFE_DELIVERED, BY_THE_BOOK " cancel-now exit-term cleaned taken",
      STARTED " disarm+note+kill+arm-kill" END_DEEDS, CAUSE_CANCELLED, DETAIL_NONE, 0, 15, false },
    { "a stop after the exit is too late", LIFE_DELIVERED,
      BY_THE_BOOK " exit-0 cancel cleaned cancel taken", STARTED " disarm+clean - say-end - retire",
      CAUSE_COMPLETED, DETAIL_NONE, 0, 0, false },
    { "TERM is ignored", LIFE_DELIVERED, BY_THE_BOOK " cancel grace-over exit-term cleaned taken",
      STARTED " disarm+note+term+arm-grace kill+arm-kill" END_DEEDS, CAUSE_CANCELLED, DETAIL_NONE,
      0, 15, false },
    { "KILL does not help: the hard end", LIFE_DELIVERED,
      BY_THE_BOOK " cancel grace-over grace-over grace-over grace-over cleaned taken",
      STARTED " disarm+note+term+arm-grace kill+arm-kill kill+arm-kill kill+arm-kill"
              " disarm+clean say-end retire",
      CAUSE_CANCELLED, DETAIL_NONE, 0, 0, false },
    { "evicted, then cancelled: the stronger stands", LIFE_DELIVERED,
      BY_THE_BOOK " evict cancel exit-term cleaned taken",
      STARTED " disarm+note+term+arm-grace note+term+arm-grace" END_DEEDS, CAUSE_CANCELLED,
      DETAIL_NONE, 0, 15, false },
    { "cancelled, then evicted: the first stands", LIFE_DELIVERED,
      BY_THE_BOOK " cancel evict exit-term cleaned taken",
      STARTED " disarm+note+term+arm-grace -" END_DEEDS, CAUSE_CANCELLED, DETAIL_NONE, 0, 15,
      false },
    { "the limit", LIFE_DELIVERED, BY_THE_BOOK " exit-limit cleaned taken", STARTED END_DEEDS,
      CAUSE_LIMIT_REACHED, DETAIL_NONE, 0, 15, false },
    { "evicted, then the limit: the stronger stands", LIFE_DELIVERED,
      BY_THE_BOOK " evict exit-limit cleaned taken",
      STARTED " disarm+note+term+arm-grace" END_DEEDS, CAUSE_LIMIT_REACHED, DETAIL_NONE, 0, 15,
      false },
    { "cancelled, then the limit: the stronger stands", LIFE_DELIVERED,
      BY_THE_BOOK " cancel exit-limit cleaned taken",
      STARTED " disarm+note+term+arm-grace" END_DEEDS, CAUSE_CANCELLED, DETAIL_NONE, 0, 15, false },

    { "cancelled, and out of memory meanwhile", LIFE_DELIVERED,
      BY_THE_BOOK " cancel exit-oom cleaned taken", STARTED " disarm+note+term+arm-grace" END_DEEDS,
      CAUSE_CANCELLED, DETAIL_NONE, 0, 9, false },
    { "cancelled, and over with code 0 meanwhile", LIFE_DELIVERED,
      BY_THE_BOOK " cancel exit-0 cleaned taken", STARTED " disarm+note+term+arm-grace" END_DEEDS,
      CAUSE_CANCELLED, DETAIL_NONE, 0, 0, false },
    { "killed, and not for memory", LIFE_DELIVERED, BY_THE_BOOK " exit-kill cleaned taken",
      STARTED END_DEEDS, CAUSE_COMPLETED, DETAIL_NONE, 0, 9, false },
    { "TERM of its own: the code is kept as it is", LIFE_DELIVERED,
      BY_THE_BOOK " exit-143 cleaned taken", STARTED END_DEEDS, CAUSE_COMPLETED, DETAIL_NONE, 143,
      0, false },
    { "out of memory", LIFE_DELIVERED, BY_THE_BOOK " exit-oom cleaned taken", STARTED END_DEEDS,
      CAUSE_OUT_OF_MEMORY, DETAIL_NONE, 0, 9, false },
    { "the lease was over", LIFE_DELIVERED, BY_THE_BOOK " exit-lease cleaned taken",
      STARTED END_DEEDS, CAUSE_NODE_LOST, DETAIL_NONE, 0, 9, false },
    { "no such command", LIFE_DELIVERED, "stored acked prepared turn exit-no-command cleaned taken",
      "prepare ack arm-start queue start free+disarm+clean say-end retire", CAUSE_START_FAILED,
      DETAIL_COMMAND_NOT_FOUND, 0, 0, false },
    { "the monitor cannot be spawned", LIFE_DELIVERED,
      "stored acked prepared turn spawn-failed cleaned taken",
      "prepare ack arm-start queue start free+disarm+clean say-end retire", CAUSE_START_FAILED,
      DETAIL_RUNTIME_FAILED, 0, 0, false },
    { "the monitor dies", LIFE_DELIVERED, BY_THE_BOOK " lost cleaned taken", STARTED END_DEEDS,
      CAUSE_MONITOR_LOST, DETAIL_NONE, 0, 0, false },
    { "the start is late while it is prepared", LIFE_DELIVERED,
      "stored acked start-late prepare-cancelled cleaned taken",
      "prepare ack arm-start cancel" END_DEEDS, CAUSE_START_FAILED, DETAIL_START_TIMEOUT, 0, 0,
      false },
    { "the start is late, yet prepared to its end", LIFE_DELIVERED,
      "stored acked start-late prepared cleaned taken", "prepare ack arm-start cancel" END_DEEDS,
      CAUSE_START_FAILED, DETAIL_START_TIMEOUT, 0, 0, false },
    { "the start is late in the queue", LIFE_DELIVERED,
      "stored acked prepared start-late cleaned taken",
      "prepare ack arm-start queue unqueue+disarm+clean say-end retire", CAUSE_START_FAILED,
      DETAIL_START_TIMEOUT, 0, 0, false },
    { "the runtime hangs", LIFE_DELIVERED, "stored acked prepared turn start-late cleaned taken",
      "prepare ack arm-start queue start free+disarm+clean say-end retire", CAUSE_START_FAILED,
      DETAIL_START_TIMEOUT, 0, 0, false },
    { "cleaning needs a second go", LIFE_DELIVERED,
      BY_THE_BOOK " exit-0 clean-failed clean-again cleaned taken",
      STARTED " disarm+clean clean-later clean say-end retire", CAUSE_COMPLETED, DETAIL_NONE, 0, 0,
      false },
    { "dropped while it runs: no grace, no report", LIFE_DELIVERED,
      BY_THE_BOOK " drop exit-term cleaned", STARTED " disarm+kill+arm-kill disarm+clean retire",
      CAUSE_COMPLETED, DETAIL_NONE, 0, 15, true },
    { "dropped while the ack is under way", LIFE_DELIVERED,
      "stored drop prepare-cancelled acked cleaned", "prepare ack cancel disarm+clean - retire",
      CAUSE_NONE, DETAIL_NONE, 0, 0, true },
    { "dropped while it reports", LIFE_DELIVERED, BY_THE_BOOK " exit-0 cleaned drop",
      STARTED " disarm+clean say-end retire", CAUSE_COMPLETED, DETAIL_NONE, 0, 0, true },
    { "dropped before it is stored", LIFE_DELIVERED, "drop stored prepare-cancelled cleaned",
      "prepare cancel - disarm+clean retire", CAUSE_NONE, DETAIL_NONE, 0, 0, true },
    { "an orphan runs on and is not reported", LIFE_DELIVERED,
      BY_THE_BOOK " orphaned exit-0 cleaned", STARTED " - disarm+clean retire", CAUSE_COMPLETED,
      DETAIL_NONE, 0, 0, true },
    { "an orphan that is claimed is told of again", LIFE_DELIVERED,
      BY_THE_BOOK " orphaned claimed exit-0 cleaned taken", STARTED " - say-start" END_DEEDS,
      CAUSE_COMPLETED, DETAIL_NONE, 0, 0, false },
    { "one that is dropped is not claimed", LIFE_DELIVERED,
      BY_THE_BOOK " drop claimed exit-term cleaned",
      STARTED " disarm+kill+arm-kill - disarm+clean retire", CAUSE_COMPLETED, DETAIL_NONE, 0, 15,
      true },
    { "asked for", LIFE_ASKED_FOR, "taken", "say-end retire", CAUSE_NONE, DETAIL_NONE, 0, 0,
      false },
    { "one that was not started is no orphan", LIFE_DELIVERED,
      "stored acked orphaned prepare-cancelled cleaned",
      "prepare ack arm-start cancel disarm+clean retire", CAUSE_NONE, DETAIL_NONE, 0, 0, true },
    { "found fresh: from the beginning", LIFE_FOUND_FRESH, BY_THE_BOOK " exit-0 cleaned taken",
      STARTED END_DEEDS, CAUSE_COMPLETED, DETAIL_NONE, 0, 0, false },
    { "found running", LIFE_FOUND_RUNNING, "started exit-3 cleaned taken",
      "arm-start free+disarm+say-start" END_DEEDS, CAUSE_COMPLETED, DETAIL_NONE, 3, 0, false },
    { "found running, stopped meanwhile", LIFE_FOUND_RUNNING,
      "cancel started exit-term cleaned taken",
      "arm-start disarm+note+term+arm-grace free" END_DEEDS, CAUSE_CANCELLED, DETAIL_NONE, 0, 15,
      false },
    { "found ended", LIFE_FOUND_OVER, "exit-3 cleaned taken", "- free+disarm+clean say-end retire",
      CAUSE_COMPLETED, DETAIL_NONE, 3, 0, false },
    { "found without monitor", LIFE_FOUND_OVER, "lost cleaned taken",
      "- free+disarm+clean say-end retire", CAUSE_MONITOR_LOST, DETAIL_NONE, 0, 0, false },
};

TEST(life_does_what_each_event_asks_for)
{
    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str deeds = { 0 };
        struct life life;

        play(&life, c->begin, c->script, &deeds);
        CHECK_TEXT(str_text(&deeds), c->deeds);
        CHECK_EQ(life.step, LIFE_DONE);
        CHECK_EQ(life.end.cause, c->cause);
        CHECK_EQ(life.end.detail, c->detail);
        CHECK_EQ(life.end.code, c->code);
        CHECK_EQ(life.end.signal, c->signal);
        CHECK_EQ(life.is_silent, c->is_silent);
        CHECK(!life_is_listed(&life));
    }
}

/* What must hold of any sequence of events, however odd. */
struct tally {
    int n_prepares, n_acks, n_starts, n_end_reports, n_retires;
    bool is_cleaning, was_clean;
};

static void tally_deeds(struct tally *tally, const struct life *life, unsigned deeds)
{
    tally->n_prepares += (deeds & LIFE_DO_PREPARE) != 0;
    tally->n_acks += (deeds & LIFE_DO_ACK) != 0;
    tally->n_starts += (deeds & LIFE_DO_START) != 0;
    tally->n_end_reports += (deeds & LIFE_DO_REPORT_END) != 0;
    tally->n_retires += (deeds & LIFE_DO_RETIRE) != 0;
    if (deeds & LIFE_DO_CLEAN) {
        CHECK(!tally->is_cleaning);
        /* Never under a preparation that runs. */
        /* cppcheck-suppress uninitvar ; the argument behind it fills it */
        CHECK(life->prepare == PREPARE_DONE || life->prepare == PREPARE_FAILED);
        tally->is_cleaning = true;
    }
    if (deeds & LIFE_DO_START)
        CHECK(life->ack == ACK_GIVEN && life->prepare == PREPARE_DONE && !life->is_dropped &&
              life->wanted == CAUSE_NONE);
    if (deeds & (LIFE_DO_REPORT_END | LIFE_DO_RETIRE))
        CHECK(tally->was_clean);
    if (deeds & (LIFE_DO_REPORT_START | LIFE_DO_REPORT_END))
        CHECK(!life->is_silent && life->ack == ACK_GIVEN);
}

/* Events that the caller's own deeds bring come only while they are awaited. */
static bool may_come(const struct life *life, const struct tally *tally, enum life_event event)
{
    switch ((int)event) {
    case LIFE_CLEANED:
    case LIFE_CLEAN_FAILED:
        return tally->is_cleaning;
    case LIFE_CLEAN_AGAIN:
        return life->step == LIFE_CLEANING && !tally->is_cleaning;
    case LIFE_PREPARED:
    case LIFE_PREPARE_FAILED:
        return life->prepare == PREPARE_RUNS || life->prepare == PREPARE_CANCELLING;
    case LIFE_ACKED:
    case LIFE_REFUSED:
        return tally->n_acks > 0;
    default:
        return true;
    }
}

TEST(life_holds_its_promises_under_any_order_of_events)
{
    uint64_t seed = test_seed();

    for (int round = 0; round < 20000; round++) {
        struct life life;
        struct tally tally = { 0 };

        tally_deeds(&tally, &life, life_begin(&life, LIFE_DELIVERED));
        for (int i = 0; i < 60; i++) {
            uint64_t pick = test_random(&seed);
            struct life_news news = words[pick % COUNT_OF(words)].news;

            if (pick >> 32 & 1)
                news = (struct life_news){ .event = (enum life_event)(pick % LIFE_EVENT_COUNT),
                                           .exit = &exit_ok,
                                           .cause = CAUSE_EVICTED };
            if (!may_come(&life, &tally, news.event))
                continue;
            if (news.event == LIFE_CLEANED || news.event == LIFE_CLEAN_FAILED)
                tally.is_cleaning = false;
            tally.was_clean |= news.event == LIFE_CLEANED;
            tally_deeds(&tally, &life, life_on(&life, &news));
        }
        CHECK(tally.n_prepares == 1 && tally.n_acks <= 1 && tally.n_starts <= 1 &&
              tally.n_end_reports <= 1 && tally.n_retires <= 1);
        CHECK((life.step == LIFE_DONE) == (tally.n_retires == 1));
    }
}
