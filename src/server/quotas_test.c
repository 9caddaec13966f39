/* Quotas of the configuration in the ledger: what is said stands there, and nothing else. */
#include "server/quotas.h"

#include <string.h>

#include "base/test.h"

static struct berth_amount two[] = { { "pods", 4000 }, { "cpu", 2000 } };
static struct berth_amount turned[] = { { "cpu", 2000 }, { "pods", 4000 } };
static struct berth_amount one[] = { { "cpu", 1000 } };
static struct berth_quota lab = { .name = "q", .namespace_ = "lab", .hard = { two, 2 } };
static struct berth_quota lab_turned = { .name = "q", .namespace_ = "lab", .hard = { turned, 2 } };
static struct berth_quota lab_less = { .name = "q", .namespace_ = "lab", .hard = { one, 1 } };
static struct berth_quota bio = { .name = "q", .namespace_ = "bio" };

static const struct {
    const char *name, *profile;
    struct berth_quota *quotas[2];
    const char *says;
    uint64_t n_events; /* more than before */
} rows[] = {
    { "none", "berth", { NULL }, "", 0 },
    { "two", "berth", { &lab, &bio }, "bio/q {}; lab/q {\"cpu\":2000,\"pods\":4000}; ", 2 },
    { "the same", "berth", { &lab, &bio }, "bio/q {}; lab/q {\"cpu\":2000,\"pods\":4000}; ", 0 },
    { "one less, in another order",
      "berth",
      { &lab_turned },
      "lab/q {\"cpu\":2000,\"pods\":4000}; ",
      1 },
    { "another limit", "berth", { &lab_less }, "lab/q {\"cpu\":1000}; ", 1 },
    { "a profile that holds them against what is let in", "beam", { &lab_less }, "", 1 },
    { "and one whose plugin does", "volcano", { &lab_less }, "", 0 },
    { "back again", "berth", { &lab_less }, "lab/q {\"cpu\":1000}; ", 1 },
    { "none any more", "berth", { NULL }, "", 1 },
};

static int add(const void *row, void *arg)
{
    const struct row_quota *quota = row;

    str_addf(arg, "%s/%s %s; ", quota->ns, quota->name, quota->hard);
    return 0;
}

static uint64_t look(struct reader *reader, struct str *says)
{
    struct err err = { 0 };
    uint64_t revision = 0;

    str_clear(says);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    CHECK_OK(reader_quotas(reader, add, says, &err), &err);
    reader_end(reader);
    return revision;
}

TEST(the_ledgers_quotas_are_those_of_the_configuration)
{
    struct ledger_options options = { .store = "memory:", .clock = &clock_system, .server = "s1" };
    CLEANUP(str_fini) struct str says = { 0 };
    struct ledger *ledger;
    struct reader *reader;
    struct err err = { 0 };
    uint64_t before;

    CHECK_OK(ledger_open(&options, &ledger, &err), &err);
    CHECK_OK(ledger_start(ledger, &err), &err);
    CHECK_OK(reader_open(ledger, &reader, &err), &err);
    before = look(reader, &says);
    ROW_EACH (c, rows) {
        struct berth_config config = { .profile = c->profile };
        struct berth_delta objects[2] = { { .kind = BERTH_QUOTA, .quota = c->quotas[0] },
                                          { .kind = BERTH_QUOTA, .quota = c->quotas[1] } };
        struct feed_engine_from from = { .config = &config, .objects = objects };
        from.n_objects = (c->quotas[0] != NULL) + (c->quotas[1] != NULL);
        CHECK_OK(quotas_write(ledger, reader, &from, &err), &err);
        CHECK_EQ(look(reader, &says), before + c->n_events);
        CHECK_TEXT(str_text(&says), c->says);
        before += c->n_events;
    }
    reader_close(reader);
    ledger_close(ledger);
}
