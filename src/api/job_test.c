#include "api/job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/flags.h"
#include "api/json.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/name.h"
#include "base/str.h"
#include "base/test.h"

#define IMG "image: oci:/srv/i\n"

/* The faults as "LINE POINTER: TEXT" lines. */
static char *faults(const char *path, const char *text)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct problem problem = { 0 };
    struct str out = { 0 };
    int r = job_spec_from_text(path, text, strlen(text), &spec, &problem);

    CHECK_EQ(r < 0, problem.code != 0);
    for (size_t i = 0; i < problem_n_kept(&problem); i++)
        str_addf(&out, "%s%d:%d %s: %s", i ? "\n" : "", problem.fields[i].line,
                 problem.fields[i].column, problem.fields[i].pointer, problem.fields[i].text);
    return str_take(&out);
}

static const struct {
    const char *name, *text, *faults;
} rows[] = {
    { "a small job", IMG, "" },
    { "unknown key, near", "image: oci:/i\nreplica: 2\n",
      "2:1 /replica: unknown key \"replica\"; did you mean \"replicas\"?" },
    { "unknown key, far", "image: oci:/i\nzebra: 2\n", "2:1 /zebra: unknown key \"zebra\"" },
    { "unknown key in a group", "groups:\n  - image: oci:/i\n    comand: [a]\n",
      "3:5 /groups/0/comand: unknown key \"comand\"; did you mean \"command\"?" },
    { "unknown key in retries", IMG "retries: {maxx: 1}\n",
      "2:11 /retries/maxx: unknown key \"maxx\"; did you mean \"max\"?" },
    { "not built yet", IMG "after: [ok:j-1]\ngpu: 1\n",
      "2:1 /after: \"after\" comes with a later version; leave it out for now\n"
      "3:1 /gpu: \"gpu\" comes with a later version; leave it out for now" },
    { "service", IMG "kind: service\n", "2:1 /kind: \"service\" comes with a later version" },
    { "kind", IMG "kind: bach\n", "2:1 /kind: \"bach\" is none of: batch" },
    { "bridge", IMG "network: bridge\n", "2:1 /network: \"bridge\" comes with a later version" },
    { "registry", "image: alpine:3\n",
      "1:1 /image: \"alpine:3\": names of a registry come with a later version; use oci:PATH or "
      "dir:PATH" },
    { "no image", "name: x\n",
      "1:1 /image: an image is needed, such as oci:/srv/images/train (only runtime process goes "
      "without)" },
    { "image by relative path", "image: oci:build/i\n",
      "1:1 /image: the image's path \"build/i\" is not absolute: it begins with /" },
    { "image that climbs", "image: dir:/srv/../etc\n",
      "1:1 /image: the image's path \"/srv/../etc\" has a part \"..\"" },
    { "process needs a command", "runtime: process\n",
      "1:1 : without an image a command is needed" },
    { "process without image", "runtime: process\ncommand: [sleep, '1']\n", "" },
    { "a word of the command that is no text", "runtime: process\ncommand: [true]\n",
      "2:11 /command/0: must be text, not true" },
    { "a command that is no list", "runtime: process\ncommand: true\n",
      "2:1 /command: must be a list, not true" },
    { "a command under another name", "runtime: process\ncomand: [a]\n",
      "2:1 /comand: unknown key \"comand\"; did you mean \"command\"?" },
    { "an image that is no text", "runtime: process\nimage: 5\n",
      "2:1 /image: must be text, not a number: put it in quotes" },
    { "an image under another name", "imgae: oci:/i\n",
      "1:1 /imgae: unknown key \"imgae\"; did you mean \"image\"?" },
    { "no image, and something else unknown", "coloor: red\n",
      "1:1 /coloor: unknown key \"coloor\"\n1:1 /image: an image is needed, such as "
      "oci:/srv/images/train (only runtime process goes without)" },
    { "runtime without image", "runtime: proces\ncommand: [a]\n",
      "1:1 /runtime: \"proces\" is none of: crun, runc, process" },
    { "runtime", IMG "runtime: docker\n",
      "2:1 /runtime: \"docker\" is none of: crun, runc, process" },
    { "name", IMG "name: A_b\n", "2:1 /name: \"A_b\" is not a name: 1 to 63 of a-z, 0-9 and -" },
    { "a number for a name", IMG "name: 12\n",
      "2:1 /name: must be text, not a number: put it in quotes" },
    { "priority", IMG "priority: 100001\n", "2:1 /priority: 100001 is outside of -1000 to 100000" },
    { "2^63", IMG "priority: 9223372036854775808\n", "2:11 /priority: the number is too large" },
    { "NaN", IMG "resources: {cpu: .nan}\n", "2:18 /resources/cpu: must be a finite number" },
    { "1e400", IMG "resources: {cpu: 1e400}\n", "2:18 /resources/cpu: the number is too large" },
    { "-1", IMG "resources: {cpu: -1}\n", "2:13 /resources/cpu: \"-1\" is negative" },
    { "2^53 + 1 plain", IMG "resources: {memory: 9007199254740994}\n",
      "2:13 /resources/memory: a plain number may be at most 2^53; write a text such as "
      "\"16Ei\"" },
    { "half a core", IMG "resources: {cpu: 0.5, memory: 9007199254740992}\n", "" },
    { "quantity", IMG "resources: {cpu: two}\n", "2:13 /resources/cpu: \"two\" is not a quantity" },
    { "quantity of the wrong type", IMG "resources: {cpu: [1]}\n",
      "2:13 /resources/cpu: must be a quantity, not a list" },
    { "resource's name", IMG "resources: {a b: 1}\n",
      "2:13 /resources/a b: \"a b\" is not a resource's name: letters, digits and . _ / -" },
    { "replicas", IMG "replicas: 0\n", "2:1 /replicas: 0 is outside of 1 to 10000" },
    { "replicas in all",
      "groups:\n- {name: a, replicas: 9999, image: oci:/i}\n- {name: b, replicas: 2, image: "
      "oci:/i}\n",
      "1:1 /groups: 10001 tasks in all; at most 10000" },
    { "minAvailable above the tasks", IMG "replicas: 2\nminAvailable: 3\n",
      "3:1 /minAvailable: 3 is outside of 1 to 2" },
    { "minAvailable of who knows how many", IMG "replicas: two\nminAvailable: 3\n",
      "2:1 /replicas: must be a whole number, not text" },
    { "minAvailable of a group of who knows how many",
      "minAvailable: 2\ngroups:\n- {replicas: 0, minAvailable: 3, image: oci:/i}\n",
      "3:4 /groups/0/replicas: 0 is outside of 1 to 10000" },
    { "gang says otherwise", IMG "replicas: 3\nminAvailable: 2\ngang: true\n",
      "3:1 /minAvailable: is 2 and gang: true means all 3; leave one of them out" },
    { "gang says the same", IMG "replicas: 3\nminAvailable: 3\ngang: true\n", "" },
    { "group's minimum", "groups:\n- {replicas: 2, minAvailable: 3, image: oci:/i}\n",
      "2:17 /groups/0/minAvailable: 3 is outside of 0 to 2" },
    { "two groups of one name", "groups:\n- {image: oci:/i}\n- {image: oci:/i}\n",
      "3:3 /groups/1/name: \"task\" is the name of group 0 too" },
    { "a group's name that is no text", "groups:\n- {name: 5, image: oci:/i}\n- {image: oci:/i}\n",
      "2:4 /groups/0/name: must be text, not a number: put it in quotes" },
    { "groups that are no objects", "groups: [1, 2]\n",
      "1:10 /groups/0: must be an object, not a number\n"
      "1:13 /groups/1: must be an object, not a number" },
    { "a topology that is none, of the first of two groups",
      "groups:\n- {name: a, image: oci:/i, topology: hard}\n- {name: b, image: oci:/i}\n",
      "2:28 /groups/0/topology: must be an object, not text" },
    { "no group", "groups: []\n", "1:1 /groups: a job has at least one group" },
    { "group keys beside groups", "groups: [{image: oci:/i}]\nimage: oci:/i\n",
      "2:1 /image: belongs into a group: there is a list of groups" },
    { "a group is no object", "groups: [1]\n", "1:10 /groups/0: must be an object, not a number" },
    { "no is text", IMG "gang: no\n", "2:1 /gang: must be true or false, not text" },
    { "duration", IMG "limit: 5 minutes\n",
      "2:1 /limit: \"5 minutes\" is not a duration (such as 30s, 1h30m, 2d; units d h m s ms)" },
    { "duration as a number", IMG "limit: 30\n",
      "2:1 /limit: must be text with a unit, such as \"30s\" or \"1h30m\"" },
    { "grace", IMG "grace: 11m\n", "2:1 /grace: \"11m\" is longer than 10m" },
    { "negative duration", IMG "grace: -1s\n", "2:1 /grace: \"-1s\" is negative" },
    { "retries", IMG "retries: {max: 1001}\n", "2:11 /retries/max: 1001 is outside of 0 to 1000" },
    { "retries as a number", IMG "retries: 3\n", "2:1 /retries: must be an object, not a number" },
    { "backoff", IMG "retries: {backoff: 2m, backoffMax: 1m}\n",
      "2:24 /retries/backoffMax: is less than backoff" },
    { "backoff of no unit", IMG "retries: {backoff: 5, backoffMax: 1s}\n",
      "2:11 /retries/backoff: must be text with a unit, such as \"30s\" or \"1h30m\"" },
    { "long backoff alone", IMG "retries: {backoff: 1h}\n", "" },
    { "onFailure", IMG "onFailure: halt\n", "2:1 /onFailure: \"halt\" is none of: stop, continue" },
    { "labels", IMG "labels: {a b: x, c: 1}\n",
      "2:10 /labels/a b: \"a b\" is not a label's name: letters, digits and . _ / -, at most "
      "253\n2:18 /labels/c: must be text, not a number: put it in quotes" },
    { "env names", IMG "env: {'a=b': x, '': y}\n",
      "2:7 /env/a=b: \"a=b\" is not a variable's name: letters, digits and _ . -, no digit first, "
      "at most 253\n"
      "2:17 /env/: \"\" is not a variable's name: letters, digits and _ . -, no digit first, at "
      "most "
      "253" },
    { "more env names", IMG "env: {A B: x, 9a: y, _.a-9: z, \"\\xe4\": w}\n",
      "2:7 /env/A B: \"A B\" is not a variable's name: letters, digits and _ . -, no digit first, "
      "at most 253\n"
      "2:15 /env/9a: \"9a\" is not a variable's name: letters, digits and _ . -, no digit first, "
      "at most 253\n"
      "2:32 /env/\xc3\xa4: \"\xc3\xa4\" is not a variable's name: letters, digits and _ . -, no "
      "digit "
      "first, at most 253" },
    { "env names of a group",
      "groups: [{name: a, image: oci:/i}, {name: b, image: oci:/i, env: {A B: x}}]\n",
      "1:67 /groups/1/env/A B: \"A B\" is not a variable's name: letters, digits and _ . -, no "
      "digit "
      "first, at most 253" },
    { "pointers are escaped", IMG "labels: {a/b: 1}\n",
      "2:10 /labels/a~1b: must be text, not a number: put it in quotes" },
    { "user", IMG "user: root\n", "2:1 /user: \"root\" is not a user: UID or UID:GID, in numbers" },
    { "user too large", IMG "user: '4294967295'\n",
      "2:1 /user: \"4294967295\" is not a user: UID or UID:GID, in numbers" },
    { "a node that is none", IMG "node: a b\n", "2:1 /node: \"a b\" is not a node's name" },
    { "a capability without a version", IMG "capability: image\n",
      "2:1 /capability: \"image\" is not NAME@VERSION, such as image@2.1" },
    { "what must be there below zero", IMG "requires: {cpu: -1}\n",
      "2:12 /requires/cpu: \"-1\" is negative" },
    { "a topology of another mode", IMG "topology: {mode: firm}\n",
      "2:12 /topology/mode: \"firm\" is none of: soft, hard" },
    { "a tier below zero", IMG "topology: {tier: -1}\n",
      "2:12 /topology/tier: -1 is outside of 0 to 1000" },
    { "groups that are kept together otherwise",
      "groups: [{name: a, image: 'oci:/i', topology: {tier: 1}},\n {name: b, image: 'oci:/i', "
      "topology: {tier: 2}}]\n",
      "2:29 /groups/1/topology: is another than the first group's: a job is kept together as a "
      "whole" },
    { "an affinity that is a list", IMG "affinity: [a]\n",
      "2:1 /affinity: must be an object, not a list" },
    { "an affinity of nothing", IMG "affinity: {}\nrequires: {}\nbudget: {}\n", "" },
    { "a node without a name", IMG "node: ''\n",
      "2:1 /node: \"\" is not a node's name; leave it out for any node" },
    { "a capability of nothing", IMG "capability: ''\n",
      "2:1 /capability: \"\" is not NAME@VERSION, such as image@2.1; leave it out for any" },
    { "a capability of two versions", IMG "capability: a@b@c\n",
      "2:1 /capability: \"a@b@c\" has more than one @: it is NAME@VERSION, such as image@2.1" },
    { "both budgets", IMG "budget: {minAvailable: 1, maxUnavailable: 1}\n",
      "2:1 /budget: has both minAvailable and maxUnavailable; leave one of them out" },
    { "a budget of more than all", IMG "budget: {maxUnavailable: 101%}\n",
      "2:10 /budget/maxUnavailable: \"101%\" is neither a number, 0 to 10000, nor a part in "
      "percent, 0% to 100%" },
    { "a budget above the tasks", IMG "replicas: 2\nbudget: {minAvailable: 9}\n", "" },
    { "a budget below none", IMG "budget:\n  minAvailable: -1\n",
      "3:3 /budget/minAvailable: -1 is outside of 0 to 10000" },
    { "user and group", IMG "user: 1000:1000\n", "" },
    { "workDir", IMG "workDir: work\n",
      "2:1 /workDir: workDir \"work\" is not absolute: it begins with /" },
    { "args", IMG "args: [a, 1]\n", "2:11 /args/1: must be text, not a number: put it in quotes" },
    { "toleration", IMG "tolerations: [{key: k, operator: Exists, value: v}, {value: x}]\n",
      "2:42 /tolerations/0/value: operator Exists takes no value\n"
      "2:53 /tolerations/1: operator Equal needs a key; Exists without a key tolerates "
      "everything" },
    { "effect", IMG "tolerations: [{key: k, effect: Never}]\n",
      "2:24 /tolerations/0/effect: \"Never\" is none of: NoSchedule, PreferNoSchedule, "
      "NoExecute" },
    { "all faults at once", "nam: x\nqueue: 'Q'\npriority: high\nimage: x\ngrace: 1d\n",
      "1:1 /nam: unknown key \"nam\"; did you mean \"name\"?\n"
      "2:1 /queue: \"Q\" is not a name: 1 to 63 of a-z, 0-9 and -\n"
      "3:1 /priority: must be a whole number, not text\n"
      "5:1 /grace: \"1d\" is longer than 10m\n"
      "4:1 /image: \"x\": names of a registry come with a later version; use oci:PATH or "
      "dir:PATH" },
    { "not an object", "- a\n", "1:1 : must be an object, not a list" },
    { "empty", "", "1:1 : must be an object, not null" },
    { "a key twice", "image: oci:/i\nimage: oci:/j\n", "2:1 /image: the key stands here twice" },
    { "a key twice, and what else is wrong",
      "image: oci:/i\nlabels: {a: b}\nlabels: {a: 1}\ngrace: 1d\n",
      "3:1 /labels: the key stands here twice\n"
      "4:1 /grace: \"1d\" is longer than 10m\n"
      "2:10 /labels/a: must be text, not a number: put it in quotes" },
    { "a bare zero in quotes", IMG "limit: '0'\n",
      "2:1 /limit: \"0\" is not a duration (such as 30s, 1h30m, 2d; units d h m s ms)" },
    { "what belongs into a group is no lack of the group",
      "command: [a]\nruntime: process\ngroups:\n- name: a\n",
      "1:1 /command: belongs into a group: there is a list of groups\n"
      "2:1 /runtime: belongs into a group: there is a list of groups" },
    { "two documents", "image: oci:/i\n---\nimage: oci:/j\n",
      "2:1 : not YAML: a second document begins here" },
    { "JSON, faults with lines",
      "{\n  \"image\": \"oci:/i\",\n  \"labels\": {\"a/b\": 1},\n  \"prioritty\": 5\n}",
      "4:3 /prioritty: unknown key \"prioritty\"; did you mean \"priority\"?\n"
      "3:14 /labels/a~1b: must be text, not a number: put it in quotes" },
    { "JSON, 2^63", "{\"image\": \"oci:/i\",\n \"priority\": 9223372036854775808}",
      "2:2 /priority: the number is too large" },
    { "JSON, 1e400", "{\"image\": 1,\n\"resources\": {\"cpu\": 1e400, \"a\": 1e400}}",
      "2:15 /resources/cpu: the number is too large\n2:29 /resources/a: the number is too large\n"
      "1:2 /image: must be text, not a number: put it in quotes" },
    { "JSON, a key twice, and what else is wrong",
      "{\"name\": \"a\",\n \"name\": \"b\",\n\"image\": \"oci:/i\", \"limit\": 5}",
      "2:7 /name: the key stands here twice\n"
      "3:20 /limit: must be text with a unit, such as \"30s\" or \"1h30m\"" },
    { "JSON, NaN", "{\"priority\": NaN}",
      "1:16 /priority: not JSON: line 1, column 16: 'NaN' is no value: want true, false, null, a "
      "number, or text in double quotes" },
};

TEST(job_faults_stand_at_their_pointer_and_line)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *found = faults("job.yaml", c->text);
        CHECK_TEXT(found, c->faults);
    }
}

static const struct {
    const char *name, *head, *before; /* then a number of so many digits */
    int width;
    const char *behind;
    int n;
    const char *tail, *fault;
} sizes[] = {
    { "labels", IMG "labels: {", "l", 4, ": 'aaaaaaaaaaaaaaaaaaaaaaaaaaa', ", 128, "}\n", "" },
    { "labels, a letter more", IMG "labels: {", "l", 4, ": 'aaaaaaaaaaaaaaaaaaaaaaaaaaa', ", 128,
      "x: ''}\n", "2:1 /labels: 4097 bytes of names and values; at most 4096" },
    { "env", IMG "env: {", "e", 7, ": 'aaaaaaaa', ", 4096, "}\n", "" },
    { "env, a letter more", IMG "env: {", "e", 7, ": 'aaaaaaaa', ", 4096, "x: ''}\n",
      "2:1 /env: 65537 bytes of names and values; at most 65536" },
    { "args", IMG "args: [", "'", 7, "',", 16384, "]\n", "" },
    { "args, a letter more", IMG "args: [", "'", 7, "',", 16384, "'']\n",
      "2:1 /args: command and args have 131073 bytes; at most 131072" },
    { "groups", "groups:\n", "- {name: g", 1, ", image: oci:/i}\n", 50, "", "" },
    { "groups, one more", "groups:\n", "- {name: g", 1, ", image: oci:/i}\n", 51, "",
      "1:1 /groups: 51 entries, and at most 50 are allowed" },
};

TEST(job_limits_are_met_exactly)
{
    ROW_EACH (c, sizes) {
        CLEANUP(str_fini) struct str text = { 0 };
        CLEANUP(freep) char *found = NULL;
        str_add(&text, c->head);
        for (int i = 0; i < c->n; i++)
            str_addf(&text, "%s%0*d%s", c->before, c->width, i, c->behind);
        str_add(&text, c->tail);
        found = faults("job.yaml", str_text(&text));
        CHECK_TEXT(found, c->fault);
    }
}

TEST(job_of_more_than_a_body_is_refused)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    CLEANUP(freep) char *text = mem_zero(JOB_BODY_MAX_BYTES + 1, 1);
    struct problem problem = { 0 };

    memset(text, ' ', JOB_BODY_MAX_BYTES + 1);
    CHECK_EQ(job_spec_from_text("job", text, JOB_BODY_MAX_BYTES + 1, &spec, &problem), -EINVAL);
    CHECK_EQ(problem.code, PROBLEM_TOO_LARGE);
}

TEST(job_problem_counts_more_faults_than_it_keeps)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    CLEANUP(str_fini) struct str text = { 0 };
    struct problem problem = { 0 };

    for (int i = 0; i < 30; i++)
        str_addf(&text, "zzzzzz%d: 1\n", i);
    str_add(&text, IMG);
    CHECK_EQ(job_spec_from_text("job", text.data, text.len, &spec, &problem), -EINVAL);
    CHECK_EQ(problem.n_fields, 30);
    CHECK_EQ(problem.code, PROBLEM_UNKNOWN_FIELD);
}

/* Every key, no default. */
static const char whole[] =
    "name: train\nnamespace: lab\nqueue: research\nkind: batch\npriority: 500\nminAvailable: 2\n"
    "limit: 8h\ndeadline: 2d\nretries: {max: 3, backoff: 5s, backoffMax: 1m}\n"
    "onFailure: continue\nonDisconnect: keep\ngrace: 1m30s\nlabels: {team: vision, a: b}\n"
    "preemptable: false\nbudget: {maxUnavailable: 30%}\ngroups:\n  - name: worker\n    replicas: "
    "2\n    minAvailable: 1\n"
    "    image: oci:/srv/img/train\n    command: [torchrun]\n    args: [train.py]\n"
    "    env: {LR: '0.1', A: ''}\n    workDir: /work\n    user: '1000:1000'\n    runtime: crun\n"
    "    resources: {memory: 256Gi, cpu: 32, licence: 1, none: 0}\n"
    "    requires: {cpu: 64, none: 0}\n    capability: image@2.1\n    node: gpu-a2\n"
    "    nodeSelector: {disk: nvme}\n    preferredLabels: {zone: a}\n"
    "    affinity: {podAffinity: {b: 1, a: 2}}\n    topology: {tier: rack}\n"
    "    tolerations: [{key: k, operator: Exists, effect: NoSchedule}]\n    network: none\n";

static const char whole_canonical[] =
    "{\"name\":\"train\",\"namespace\":\"lab\",\"queue\":\"research\",\"kind\":\"batch\","
    "\"priority\":500,\"minAvailable\":2,\"limit\":\"8h\",\"deadline\":\"2d\","
    "\"retries\":{\"max\":3,\"backoff\":\"5s\",\"backoffMax\":\"1m\"},\"onFailure\":\"continue\","
    "\"onDisconnect\":\"keep\",\"grace\":\"1m30s\",\"labels\":{\"a\":\"b\",\"team\":\"vision\"},"
    "\"preemptable\":false,\"budget\":{\"maxUnavailable\":\"30%\"},\"groups\":[{\"name\":"
    "\"worker\",\"replicas\":2,\"minAvailable\":1,"
    "\"image\":\"oci:/srv/img/train\",\"command\":[\"torchrun\"],\"args\":[\"train.py\"],"
    "\"env\":{\"A\":\"\",\"LR\":\"0.1\"},\"workDir\":\"/work\",\"user\":\"1000:1000\","
    "\"runtime\":\"crun\",\"resources\":{\"cpu\":\"32\",\"licence\":\"1\",\"memory\":\"256Gi\"},"
    "\"requires\":{\"cpu\":\"64\"},\"capability\":\"image@2.1\",\"node\":\"gpu-a2\","
    "\"nodeSelector\":{\"disk\":\"nvme\"},\"preferredLabels\":{\"zone\":\"a\"},"
    "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}],"
    "\"topology\":{\"mode\":\"hard\",\"tier\":\"rack\"},"
    "\"affinity\":{\"podAffinity\":{\"a\":2,\"b\":1}},\"network\":\"none\"}]}";

static char *canonical(const char *path, const char *text)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL, *again = NULL;
    CLEANUP(freep) char *second = NULL;
    struct problem problem = { 0 };
    struct err err = { 0 };
    char *first;
    int r = job_spec_from_text(path, text, strlen(text), &spec, &problem);

    CHECK_TEXT(problem.detail, "");
    CHECK_EQ(r, 0);
    first = job_spec_to_text(spec, NULL);
    CHECK_OK(job_spec_from_canonical(first, &again, &err), &err);
    second = job_spec_to_text(again, NULL);
    CHECK_TEXT(second, first);
    return first;
}

TEST(job_canonical_text_has_all_keys_in_order)
{
    CLEANUP(freep) char *text = canonical("x.yaml", whole);

    CHECK_TEXT(text, whole_canonical);
}

TEST(job_canonical_text_fills_in_the_defaults)
{
    CLEANUP(freep) char *text = canonical("/a/b/My job.v2.yaml", IMG);

    CHECK_TEXT(text, "{\"name\":\"my-job\",\"namespace\":\"default\",\"queue\":\"default\","
                     "\"kind\":\"batch\",\"priority\":0,\"minAvailable\":1,"
                     "\"retries\":{\"max\":0,\"backoff\":\"10s\",\"backoffMax\":\"5m\"},"
                     "\"onFailure\":\"stop\",\"onDisconnect\":\"stop\",\"grace\":\"30s\","
                     "\"preemptable\":true,\"groups\":[{\"name\":\"task\",\"replicas\":1,"
                     "\"minAvailable\":0,\"image\":\"oci:/srv/i\",\"network\":\"host\"}]}");
}

/* What an earlier build accepted is not lost with its ledger. */
TEST(job_canonical_text_may_name_variables_as_they_were_named)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    CLEANUP(freep) char *text = canonical("x", IMG "env: {A_B: x}\n");
    struct err err = { 0 };

    strstr(text, "A_B")[1] = ' ';
    CHECK_OK(job_spec_from_canonical(text, &spec, &err), &err);
    CHECK_TEXT(spec->groups[0].env.at[0].key, "A B");
}

TEST(job_digest_is_of_the_canonical_text)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    CLEANUP(freep) char *text = NULL;
    struct problem problem = { 0 };
    char digest[DIGEST_HEX_SIZE], expected[DIGEST_HEX_SIZE];

    CHECK_EQ(job_spec_from_text("x", whole, strlen(whole), &spec, &problem), 0);
    text = job_spec_to_text(spec, digest);
    digest_hex(text, strlen(text), expected);
    CHECK_TEXT(digest, expected);
}

static int64_t amount_in(const struct amounts *amounts, const char *resource)
{
    for (size_t i = 0; i < amounts->n; i++)
        if (strcmp(amounts->at[i].resource, resource) == 0)
            return amounts->at[i].value;
    return 0;
}

TEST(job_amounts_are_found_by_name)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct problem problem = { 0 };

    CHECK_EQ(job_spec_from_text("x", whole, strlen(whole), &spec, &problem), 0);
    CHECK_EQ(amount_in(&spec->groups[0].resources, "cpu"), 32000);
    CHECK_EQ(amount_in(&spec->groups[0].resources, "memory"), INT64_C(256) << 30);
    CHECK_EQ(amount_in(&spec->groups[0].resources, "none"), 0);
    CHECK_EQ(amount_in(&spec->groups[0].resources, "gpu"), 0);
    CHECK_EQ(amount_in(&spec->groups[0].holds, "memory"), INT64_C(256) << 30);
    CHECK_EQ(spec->n_tasks, 2);
}

TEST(headroom_is_fixed_with_the_job_and_is_no_part_of_what_its_user_said)
{
    static const char text[] = "{\"name\":\"a\",\"image\":\"dir:/i\","
                               "\"resources\":{\"cpu\":\"500m\",\"memory\":\"50Mi\"}}";
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL, *back = NULL;
    CLEANUP(freep) char *plain = NULL, *canonical = NULL;
    char digest[DIGEST_HEX_SIZE], same[DIGEST_HEX_SIZE];
    struct problem problem = { 0 };
    struct err err = { 0 };

    CHECK_EQ(job_spec_from_text("x", text, strlen(text), &spec, &problem), 0);
    plain = job_spec_to_text(spec, digest);
    CHECK(!strstr(plain, "memoryMilli"));
    job_spec_set_headroom(spec, 1250);
    CHECK_EQ(amount_in(&spec->groups[0].resources, "memory"), INT64_C(50) << 20);
    CHECK_EQ(amount_in(&spec->groups[0].holds, "memory"), INT64_C(63) << 20); /* 62.5 */
    CHECK_EQ(amount_in(&spec->groups[0].holds, "cpu"), 500);
    canonical = job_spec_to_text(spec, same);
    CHECK_TEXT(same, digest);
    CHECK_OK(job_spec_from_canonical(canonical, &back, &err), &err);
    CHECK_EQ(back->memory_milli, 1250);
    CHECK_EQ(amount_in(&back->groups[0].resources, "memory"), INT64_C(50) << 20);
    CHECK_EQ(amount_in(&back->groups[0].holds, "memory"), INT64_C(63) << 20);
    job_spec_freep(&back);
    CHECK_EQ(job_spec_from_text("x", canonical, strlen(canonical), &back, &problem), -EINVAL);
    CHECK_TEXT(problem.fields[0].pointer, "/memoryMilli");
}

TEST(a_limit_that_is_changed_says_what_it_was_and_the_user_cannot)
{
    static const char text[] = "{\"name\":\"a\",\"image\":\"dir:/i\",\"limit\":\"1h\"}";
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL, *back = NULL;
    CLEANUP(freep) char *plain = NULL, *canonical = NULL, *again = NULL;
    struct problem problem = { 0 };
    struct err err = { 0 };

    CHECK_EQ(job_spec_from_text("x", text, strlen(text), &spec, &problem), 0);
    plain = job_spec_to_text(spec, NULL);
    CHECK(!strstr(plain, "limitSubmitted"));
    job_spec_set_limit(spec, 7200000);
    job_spec_set_limit(spec, 0);
    canonical = job_spec_to_text(spec, NULL);
    CHECK_OK(job_spec_from_canonical(canonical, &back, &err), &err);
    CHECK_EQ(back->limit_ms, 0);
    CHECK_EQ(back->limit_submitted_ms, 3600000);
    CHECK_EQ(job_spec_own_limit(back), 3600000);
    job_spec_set_limit(back, 3600000); /* as it was: nothing is left of it */
    again = job_spec_to_text(back, NULL);
    CHECK_TEXT(again, plain);
    job_spec_freep(&back);
    CHECK_EQ(job_spec_from_text("x", canonical, strlen(canonical), &back, &problem), -EINVAL);
    CHECK_TEXT(problem.fields[0].pointer, "/limitSubmitted");
}

/* One job, said in each of the four ways. */
TEST(job_is_the_same_by_flags_script_json_and_yaml)
{
    static const char yaml[] =
        "name: eval\nqueue: research\nreplicas: 3\ngang: true\nlimit: 30m\nretries: {max: 2}\n"
        "image: oci:/srv/i\nresources: {cpu: 0.5, memory: 64Mi, lic: 2}\nenv: {A: 'b c'}\n"
        "labels: {x: y}\nnodeSelector: {disk: nvme}\npreferredLabels: {zone: a}\n"
        "tolerations: [{key: k, operator: Exists}, {key: l, value: v, effect: NoExecute}]\n"
        "command: [echo]\nargs: [hi, there]\n";
    static const char json[] =
        "{\"name\":\"eval\",\"queue\":\"research\",\"gang\":true,\"limit\":\"30m\","
        "\"retries\":{\"max\":2},\"labels\":{\"x\":\"y\"},\"groups\":[{\"replicas\":3,"
        "\"image\":\"oci:/srv/i\",\"resources\":{\"lic\":2,\"cpu\":\"500m\",\"memory\":67108864},"
        "\"env\":{\"A\":\"b c\"},\"nodeSelector\":{\"disk\":\"nvme\"},"
        "\"preferredLabels\":{\"zone\":\"a\"},\"tolerations\":[{\"key\":\"k\","
        "\"operator\":\"Exists\"},{\"key\":\"l\",\"operator\":\"Equal\",\"value\":\"v\","
        "\"effect\":\"NoExecute\"}],\"command\":[\"echo\"],\"args\":[\"hi\",\"there\"]}]}";
    static const char *const words[] = {
        "--name=eval",
        "-q",
        "research",
        "--tasks",
        "3",
        "--gang",
        "--time",
        "30m",
        "--retries",
        "2",
        "--image",
        "oci:i",
        "--cpu",
        "0.5",
        "--memory=64Mi",
        "--resource",
        "lic=2",
        "--env",
        "A=b c",
        "--label",
        "x=y",
        "--node-selector",
        "disk=nvme",
        "--prefer",
        "zone=a",
        "--toleration",
        "k",
        "--toleration",
        "l=v:NoExecute",
    };
    static const char *const command[] = { "echo", "hi", "there" };
    CLEANUP(freep) char *a = canonical("f.yaml", yaml), *b = canonical("f.json", json), *c = NULL;
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    CLEANUP(flags_fini) struct flags flags;
    struct problem problem = { 0 };

    flags_init(&flags);
    flags.base_dir = "/srv";
    for (size_t at = 0; at < COUNT_OF(words);)
        CHECK_EQ(flags_take(&flags, (char *const *)words, COUNT_OF(words), &at, &problem), 1);
    flags_set_command(&flags, (char *const *)command, COUNT_OF(command));
    CHECK_EQ(job_spec_from_json(flags.job, NULL, &spec, &problem), 0);
    c = job_spec_to_text(spec, NULL);
    CHECK_TEXT(b, a);
    CHECK_TEXT(c, a);
}

TEST(job_of_ten_thousand_tasks_costs_what_its_groups_cost)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct problem problem = { 0 };
    const char *text = IMG "replicas: 10000\ngang: true\n";

    CHECK_EQ(job_spec_from_text("x", text, strlen(text), &spec, &problem), 0);
    CHECK_EQ(spec->n_tasks, 10000);
    CHECK_EQ(spec->min_available, 10000);
    CHECK_EQ(spec->n_groups, 1);
}

static const struct {
    const char *name, *path, *job;
} paths[] = {
    { "plain", "train.yaml", "train" },
    { "in a folder, with upper case", "/a/B/Eval Run_2.tar.yaml", "eval-run-2" },
    { "hidden", "/a/.hidden.yaml", "hidden" },
    { "nothing left", "/a/___", "job" },
    { "empty", "", "job" },
    { "longer than a name",
      "0123456789012345678901234567890123456789012345678901234567890123456789",
      "012345678901234567890123456789012345678901234567890123456789012" },
};

TEST(job_name_comes_from_the_file)
{
    ROW_EACH (c, paths) {
        char name[NAME_MAX_BYTES + 1];
        job_name_of_path(c->path, name);
        CHECK_TEXT(name, c->job);
    }
}

static const struct {
    const char *name, *path;
    uint32_t n_tasks, min_available;
} examples[] = {
    { "a gang of three", "examples/hello.yaml", 3, 3 },
    { "a script", "examples/script.sh", 2, 1 },
};

TEST(job_examples_are_read)
{
    const char *here = strstr(__FILE__, "src/api/job_test.c");

    ROW_EACH (c, examples) {
        CLEANUP(freep)
        char *path = text_format("%.*s%s", (int)(here - __FILE__), __FILE__, c->path);
        CLEANUP(str_fini) struct str text = { 0 };
        CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
        struct problem problem = { 0 };
        struct err err = { 0 };
        CHECK_OK(file_read(AT_FDCWD, path, JOB_BODY_MAX_BYTES, &text, &err), &err);
        CHECK_EQ(job_spec_from_text(path, text.data, text.len, &spec, &problem), 0);
        CHECK_EQ(spec->n_tasks, c->n_tasks);
        CHECK_EQ(spec->min_available, c->min_available);
    }
}
