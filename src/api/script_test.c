#include "api/script.h"

#include <errno.h>
#include <string.h>

#include "api/job.h"
#include "base/str.h"
#include "base/test.h"

#define SH "#!/bin/sh\n"

/* The object without the script's text, or "LINE:COLUMN TEXT" of each fault. */
static char *read_script(const char *text)
{
    CLEANUP(flags_fini) struct flags flags;
    struct problem problem = { 0 };
    struct str out = { 0 };
    int r;

    flags_init(&flags);
    r = script_read("eval.sh", text, strlen(text), &flags, &problem);
    CHECK_EQ(r < 0, problem.code != 0);
    if (r == 0) {
        json_object_del(flags.job, "command");
        return json_dumps(flags.job, JSON_COMPACT);
    }
    for (size_t i = 0; i < problem_n_kept(&problem); i++)
        str_addf(&out, "%s%d:%d %s", i ? "\n" : "", problem.fields[i].line,
                 problem.fields[i].column, problem.fields[i].text);
    return str_take(&out);
}

static const struct {
    const char *name, *text, *object;
} rows[] = {
    { "no lines", SH "echo hi\n", "{}" },
    { "several lines",
      SH "# a comment\n#BERTH -q research --cpu 1\n\n  # another\n#BERTH --time 30m\nexec x\n",
      "{\"queue\":\"research\",\"resources\":{\"cpu\":\"1\"},\"limit\":\"30m\"}" },
    { "no line end at the end", SH "#BERTH --name a", "{\"name\":\"a\"}" },
    { "quotes", SH "#BERTH --env 'A=b c' --env \"B=\\\"$\\\\'\" --env C=a\\ b''\"c\"\n",
      "2:28 nothing is expanded in #BERTH lines; write \\$ or use single quotes" },
    { "quotes without variables",
      SH "#BERTH --env 'A=b $c' --env \"B=\\\"\\$\\\\'\" --env C=a\\ b''\"c\"\n",
      "{\"env\":{\"A\":\"b $c\",\"B\":\"\\\"$\\\\'\",\"C\":\"a bc\"}}" },
    { "empty word", SH "#BERTH --name ''\n", "{\"name\":\"\"}" },
    { "comment behind flags", SH "#BERTH --name a#b # --cpu 1\n", "{\"name\":\"a#b\"}" },
    { "tabs", SH "#BERTH\t--name\ta\t\n", "{\"name\":\"a\"}" },
    { "empty mark", SH "#BERTH\n", "{}" },
    { "not quite the mark",
      SH "##BERTH --cpu x\n# BERTH --cpu x\n#BERTHA --cpu x\n #BERTH --cpu x\n", "{}" },
    { "variable", SH "#BERTH --name $HOME\n",
      "2:15 nothing is expanded in #BERTH lines; use single quotes" },
    { "open quote", SH "#BERTH --name 'a\n", "2:15 a quote is not closed" },
    { "continued", SH "#BERTH --name \\\n",
      "2:15 a line cannot be continued; begin another with #BERTH" },
    { "unknown flag", SH "\n#BERTH --cpu 1 --memroy 1Gi\n",
      "3:16 unknown flag --memroy; did you mean --memory?" },
    { "an unknown flag, and a fault behind it", SH "#BERTH --toplogy hard --cpu\n",
      "2:8 unknown flag --toplogy; did you mean --topology?\n2:23 --cpu: needs a value" },
    { "words that are no flags", SH "#BERTH a b --gang\n", "2:8 \"a\" is not a flag" },
    { "command in a line", SH "#BERTH -- echo\n",
      "2:8 no command may stand here: the script is the command" },
    { "flag without a value", SH "#BERTH --cpu\n", "2:8 --cpu: needs a value" },
    { "later", SH "#BERTH --gpus 1\n",
      "2:8 --gpus: comes with a later version; leave it out for now" },
    { "behind a command", SH "echo a\n#BERTH --cpu 1\n",
      "3:1 a #BERTH line behind the first command is not read; move it up" },
    { "all faults", SH "#BERTH --tasks x\n#BERTH --nme y\n",
      "2:8 --tasks: \"x\" is not a whole number\n3:8 unknown flag --nme; did you mean "
      "--name?" },
    { "a flag twice", SH "#BERTH --cpu 1\n#BERTH --time 1m --cpu=2\n",
      "3:18 --cpu: is said in line 2 already" },
    { "a member by two flags", SH "#BERTH --cpu 1 --resource cpu=2\n",
      "2:16 --resource: is said in line 2 already" },
    { "a pair twice", SH "#BERTH --env A=1 --env B=1 --env A=1\n",
      "2:28 --env: is said in line 2 already" },
    { "gang and another minimum", SH "#BERTH --gang\n#BERTH --min-available 2\n",
      "3:8 --min-available: is said in line 2 already, by --gang" },
    { "what may come again", SH "#BERTH --toleration a --toleration a --label a=1 --label b=1\n",
      "{\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":\"a\","
      "\"operator\":\"Exists\"}],\"labels\":{\"a\":\"1\",\"b\":\"1\"}}" },
    { "Windows", "#!/bin/sh\r\necho\r\n",
      "1:1 the script has Windows line ends (CR LF); convert it" },
    { "not a script", "\n\n", "1:1 a script begins with #! and the shell that runs it" },
    { "no shell", "#!\necho\n", "1:1 the first line names no shell, such as #!/bin/sh" },
    { "not a shell", "#!/usr/bin/python3\nprint(1)\n",
      "1:1 only scripts for a shell can be submitted as text; let a shell script start the "
      "program" },
    { "not a shell by env", "#!/usr/bin/env python3\n",
      "1:1 only scripts for a shell can be submitted as text; let a shell script start the "
      "program" },
    { "not UTF-8", SH "echo \xff\n", "1:1 the script is not UTF-8 text" },
};

TEST(script_lines_are_flags)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *object = read_script(c->text);
        CHECK_TEXT(object, c->object);
    }
}

static const struct {
    const char *name, *text, *command;
} commands[] = {
    { "sh", "#!/bin/sh\necho\n", "[\"/bin/sh\",\"-c\",\"#!/bin/sh\\necho\\n\",\"eval.sh\"]" },
    { "an option", "#! /bin/bash -e\n",
      "[\"/bin/bash\",\"-e\",\"-c\",\"#! /bin/bash -e\\n\",\"eval.sh\"]" },
    { "env", "#!/usr/bin/env bash",
      "[\"/usr/bin/env\",\"bash\",\"-c\",\"#!/usr/bin/env bash\",\"eval.sh\"]" },
    { "env -S", "#!/usr/bin/env -S bash -e",
      "[\"/usr/bin/env\",\"bash\",\"-e\",\"-c\",\"#!/usr/bin/env -S bash -e\",\"eval.sh\"]" },
};

TEST(script_text_is_what_runs)
{
    ROW_EACH (c, commands) {
        CLEANUP(flags_fini) struct flags flags;
        struct problem problem = { 0 };
        CLEANUP(freep) char *command = NULL;
        flags_init(&flags);
        CHECK_EQ(script_read("eval.sh", c->text, strlen(c->text), &flags, &problem), 0);
        command = json_dumps(json_object_get(flags.job, "command"), JSON_COMPACT);
        CHECK_TEXT(command, c->command);
    }
}

TEST(script_faults_of_values_have_their_line)
{
    static const char text[] = SH "#BERTH --image oci:/i --time 30\n#BERTH --cpu 1 --memory lots\n";
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct problem problem = { 0 };

    CHECK_EQ(job_spec_from_text("a.sh", text, strlen(text), &spec, &problem), -EINVAL);
    CHECK_EQ(problem.n_fields, 2);
    CHECK_EQ(problem.fields[0].line, 2);
    CHECK_EQ(problem.fields[0].column, 23);
    CHECK_TEXT(problem.fields[1].text, "--memory: \"lots\" is not a quantity");
    CHECK_EQ(problem.fields[1].line, 3);
    CHECK_EQ(problem.fields[1].column, 16);
}
