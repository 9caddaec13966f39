#!/usr/bin/env bats
# The command line without a server: help, mistakes, version, completion, codes, the manual.

bats_require_minimum_version 1.5.0

setup() {
    BERTH=${BERTH:-$BUILD/berth}
    # Nothing of this machine's settings may reach the program.
    HOME=$(mktemp -d)
    export HOME XDG_CONFIG_HOME=$HOME/none XDG_RUNTIME_DIR=$HOME
    unset "${!BERTH_@}"
    export BERTH_RUN_DIR=$HOME/run
    cd "$HOME" || return 1
}

teardown() {
    rm -rf "$HOME"
}

# All verbs, one a line, as the program itself lists them.
verbs() {
    "$BERTH" help --markdown | sed -n 's/^## berth //p'
}

# fails_with STATUS WORDS...: runs berth; the rest of the line is its words.
fails_with() {
    local want=$1
    shift
    run "$BERTH" "$@"
    echo "berth $*: exit $status, wanted $want: $output"
    [ "$status" -eq "$want" ]
}

@test "each verb has --help with one usage and two examples" {
    n=0
    while read -r verb; do
        # shellcheck disable=SC2086 # a verb may be two words
        run "$BERTH" $verb --help
        echo "$verb: $output"
        [ "$status" -eq 0 ]
        [ "$(grep -c "^Usage: berth $verb" <<<"$output")" -eq 1 ]
        [ "$(grep -c "^  berth $verb" <<<"$output")" -eq 2 ]
        n=$((n + 1))
    done < <(verbs)
    [ "$n" -ge 4 ]
}

@test "the help of what runs on says which signals do what" {
    for verb in server agent dev; do
        "$BERTH" "$verb" --help | grep -qw TERM
        "$BERTH" "$verb" --help | grep -qw INT
    done
    # What an agent heeds, by its source.
    for signal in $(sed -n 's/.*signals\[\] = {\(.*\)};/\1/p' "$ROOT/src/agent/agent.c" | tr -d ' ' | tr , ' '); do
        "$BERTH" agent --help | grep -qw "${signal#SIG}"
        n=$((n + 1))
    done
    [ "$n" -ge 3 ]
}

@test "help VERB prints the same as VERB --help" {
    while read -r verb; do
        # shellcheck disable=SC2086
        diff <("$BERTH" help $verb) <("$BERTH" $verb --help)
    done < <(verbs)
}

@test "help of the program and of a noun has two examples" {
    run "$BERTH" --help
    [ "$status" -eq 0 ]
    [ "$(grep -c '^  berth ' <<<"$output")" -eq 2 ]
    run "$BERTH" explain --help
    [ "$status" -eq 0 ]
    [ "$(grep -c '^  berth ' <<<"$output")" -eq 2 ]
}

@test "no verb at all is wrong usage" {
    fails_with 2
    [[ $output == *"Usage: berth VERB"* ]]
}

@test "an unknown verb is refused with the nearest" {
    fails_with 2 explian
    [[ $output == *"unknown verb 'explian'; did you mean 'explain'?"* ]]
    fails_with 2 frobnicate
    [[ $output == *"unknown verb 'frobnicate'"* ]]
    [[ $output != *"did you mean"* ]]
}

@test "an unknown flag is refused with the nearest, for each verb" {
    while read -r verb; do
        # shellcheck disable=SC2086
        fails_with 2 $verb --frobnicate-all
        [[ $output == *"unknown flag --frobnicate-all"* ]]
    done < <(verbs)
    fails_with 2 version --sever
    [[ $output == *"did you mean --server?"* ]]
}

@test "an unknown word of a flag is refused with the nearest" {
    fails_with 2 version -o jsn
    [[ $output == *"did you mean 'json'?"* ]]
}

@test "errors are JSON with -o json" {
    run --separate-stderr "$BERTH" version -o json --frobnicate
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    # shellcheck disable=SC2154 # set by run
    [ "$(jq -r .exit <<<"$stderr")" = 2 ]
    [[ $(jq -r .detail <<<"$stderr") == "unknown flag --frobnicate" ]]
}

@test "version" {
    run "$BERTH" version
    [ "$status" -eq 0 ]
    [[ $output =~ ^berth\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    [ "$("$BERTH" --version)" = "$output" ]
    [ "berth $("$BERTH" version -o json | jq -r .client)" = "$output" ]
    [ "berth $("$BERTH" version -o id)" = "$output" ]
}

@test "what speaks to servers is loaded when one is asked" {
    # The large libraries would take most of the time of a verb that asks nobody.
    LD_DEBUG=libs "$BERTH" version 2>loaded >/dev/null
    grep -q libjansson loaded
    run ! grep -E 'libcurl|libcrypto' loaded
    LD_DEBUG=libs "$BERTH" version --server --give-up 100ms --addr http://127.0.0.1:1 2>loaded >/dev/null || true
    grep -q libcurl loaded
}

@test "explain code needs no server" {
    run "$BERTH" explain code GANG_INCOMPLETE
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == "Some tasks of the gang fit"* ]]
    fails_with 3 explain code GANG_INCOMPLET
    [[ $output == *"did you mean GANG_INCOMPLETE?"* ]]
    fails_with 3 explain code gang_incomplet
    [[ $output == *"unknown code gang_incomplet; did you mean GANG_INCOMPLETE?"* ]]
    fails_with 3 explain code incomplete
    [[ $output == *"did you mean GANG_INCOMPLETE?"* ]]
    fails_with 3 explain code XYZ
    [[ $output == *"lists all"* ]]
    [ "$("$BERTH" explain code gang_incomplete)" = "$("$BERTH" explain code GANG_INCOMPLETE)" ]
}

@test "every code of the list can be explained" {
    n=0
    while read -r code; do
        [ -n "$("$BERTH" explain code "$code")" ]
        n=$((n + 1))
    done < <("$BERTH" explain code -o id)
    [ "$n" -gt 60 ]
}

@test "a list in each form has the same things" {
    ids=$("$BERTH" explain code -o id)
    [ "$("$BERTH" explain code --no-header -o cols=CODE)" = "$ids" ]
    [ "$("$BERTH" explain code -o jsonl | jq -r .code)" = "$ids" ]
    [ "$("$BERTH" explain code -o json | jq -r '.[].code')" = "$ids" ]
    [ "$("$BERTH" explain code -o yaml | sed -n 's/^- code: //p')" = "$ids" ]
    fails_with 2 explain code -o cols=COD
    [[ $output == *"did you mean CODE"* ]]
}

@test "completion is valid bash and completes verbs, flags and words" {
    "$BERTH" completion bash >berth.bash
    bash -n berth.bash
    mkdir bin
    ln -s "$BERTH" bin/berth
    cat >ask <<'END'
PATH=$PWD/bin:$PATH
source ./berth.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_berth
printf '%s\n' "${COMPREPLY[@]}"
END
    [ "$(bash ask berth expl)" = explain ]
    [ "$(bash ask berth explain co)" = code ]
    [ "$(bash ask berth version --serv)" = --server ]
    [ "$(bash ask berth version --output ya)" = yaml ]
    [ "$(bash ask berth explain code GANG_INC)" = GANG_INCOMPLETE ]
    [ "$(bash ask berth ps -o js)" = json$'\n'jsonl ]
    [ "$(bash ask berth ps --sort wai)" = waiting ]
    [ "$(bash ask berth job list --sort -wai)" = -waiting ]
    [ "$(bash ask berth node list --sort free.c)" = free.cpu ]
    [ "$(bash ask berth queue list --sort = wei)" = weight ]
    [ "$(bash ask berth token list --sort = | head -1)" = id ]
    [ "$(bash ask berth ps --state pen)" = pending ]
    [ "$(bash ask berth order list --state wan)" = wanted ]
    [ "$(bash ask berth node list --state cor)" = cordoned ]
    [ "$(bash ask berth submit --runtime pro)" = process ]
    [ "$(bash ask berth run --network ho)" = host ]
    [ "$(bash ask berth plan --on-failure con)" = continue ]
    [ "$(bash ask berth help or)" = order ]
    [ "$(bash ask berth help order pla)" = place ]
    fails_with 2 completion tcsh
}

@test "a server that is not there is exit 7" {
    # Port 1 of the loopback: nobody listens there, and it is refused at once.
    fails_with 7 version --server --give-up 100ms --addr http://127.0.0.1:1
    [[ $output == *"127.0.0.1:1"* ]]
    if [ ! -e "/run/user/$UID/berth/dev.json" ] && [ ! -e "/tmp/berth-$UID/dev.json" ]; then
        fails_with 7 version --server
        [[ $output == *"no server is known"* ]]
    fi
    fails_with 2 version --server --addr ftp://nowhere
}

@test "mistakes are told as what they are" {
    fails_with 2 --token-file x submit
    [[ $output == *"flags stand behind the verb: berth VERB --token-file"* ]]
    fails_with 6 ps --token-file gone
    [[ $output == "berth: --token-file: the token cannot be read: open gone: No such file or directory" ]]
    # What was said by a variable is told as that.
    BERTH_CONFIG=gone fails_with 2 ps
    [ "$output" = "berth: BERTH_CONFIG: open gone: No such file or directory" ]
    BERTH_ADDR=nowhere fails_with 2 ps
    [[ $output == "berth: BERTH_ADDR: nowhere is not the address of a server"* ]]
    BERTH_OUTPUT=jsn fails_with 2 ps --addr http://127.0.0.1:1
    [[ $output == "berth: BERTH_OUTPUT: unknown word 'jsn'; did you mean 'json'?"* ]]
    fails_with 2 ps --addr http://127.0.0.1:1 -o 'template={id'
    [[ $output == "berth: --output: template={id: want {NAME}"* ]]
    fails_with 2 submit --addr http://127.0.0.1:1 --key '' --runtime process -- true
    [[ $output == "berth: --key: is empty"* ]]
    # The bounds are the job file's.
    for priority in -1001 100001 9999999999999; do
        fails_with 2 job set j-1 --addr http://127.0.0.1:1 --priority "$priority"
        [[ $output == "berth: --priority: $priority is outside of -1000 to 100000"* ]]
        fails_with 2 submit --runtime process --priority "$priority" -- true
        [[ $output == *"--priority: $priority is outside of -1000 to 100000" ]]
    done
    fails_with 2 submit /dev/null
    [[ $output == *"/dev/null is empty: want a job in YAML or JSON, or a script"* ]]
    fails_with 2 sim show gone
    [[ $output == "berth: "*gone* ]]
    fails_with 2 job set j-1
    fails_with 2 job set j-1 --label odd
    [[ $output == *"neither KEY=VALUE nor KEY-"* ]]
    fails_with 2 node forget old </dev/null
    [[ $output == *"say --yes"* ]]
    fails_with 2 submit --label odd -- true
    [[ $output == *"--label: must be KEY=VALUE"* ]]
    fails_with 2 agent --label odd
    [[ $output == *"--label: 'odd' is not KEY=VALUE"* ]]
    fails_with 2 queue create q --deserved cpu=1,cpu=2
    [[ $output == *"--deserved: cpu is there twice"* ]]
    fails_with 2 queue set q --cap cpu=1 --cap memory=1Gi,cpu=1
    run "$BERTH" server --data data --listen 127.0.0.1:99999
    [ "$status" -ne 0 ]
    [[ $output == *"the port is not a number in 0..65535"* ]]
}

@test "a token's file takes nobody's place" {
    echo mine >token
    fails_with 5 token create ci --file token --addr http://127.0.0.1:1
    [[ $output == *"token is there already"* ]]
    [ "$(cat token)" = mine ]
    # Where no token was made none is left behind.
    fails_with 7 token create ci --file other --addr http://127.0.0.1:1 --give-up 0s
    [ ! -e other ]
}

@test "a token that others can read is refused" {
    echo secret >token
    chmod 640 token
    fails_with 6 ps --addr http://127.0.0.1:1 --token-file token
    [[ $output == *"others can read the token in token (mode 0640)"*"chmod 600 token"* ]]
    chmod 600 token
    fails_with 7 ps --addr http://127.0.0.1:1 --token-file token --give-up 0s
    fails_with 7 ps --addr http://127.0.0.1:1 --token-file <(echo secret) --give-up 0s
}

# as_nobody COMMAND...: as a user that is not root, who can do nothing in this folder.
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

@test "a token is refused by who asks, root or not" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    chmod 755 "$HOME"
    for mode in 600 640 604; do
        printf secret >"mine$mode"
        printf secret >"theirs$mode"
        chmod "$mode" "mine$mode" "theirs$mode"
        chown 65534:65534 "theirs$mode"
    done
    asks=("$BERTH" ps --addr http://127.0.0.1:1 --give-up 0s --token-file)
    # WHO FILE EXIT WORDS: 7 is a token that was taken, for an address where nobody is.
    while read -r who file code words; do
        case $who in
        root) run "${asks[@]}" "$file" ;;
        nobody) run as_nobody "${asks[@]}" "$file" ;;
        esac
        echo "$who $file: exit $status, wanted $code: $output"
        [ "$status" -eq "$code" ]
        [[ $output == *"$words"* ]]
        n=$((n + 1))
    done <<'END'
root mine600 7
root mine640 6 others can read the token in mine640 (mode 0640)
root mine604 6 others can read the token in mine604 (mode 0604)
root theirs640 7
nobody theirs600 7
nobody theirs640 6 others can read the token in theirs640 (mode 0640)
nobody theirs604 6 others can read the token in theirs604 (mode 0604)
nobody mine604 7
nobody mine600 6 the token cannot be read: open mine600: Permission denied
nobody none 6 the token cannot be read: open none: No such file or directory
END
    [ "$n" = 10 ]
}

@test "docs/cli.md has the help of every verb as it is" {
    while read -r verb; do
        echo "berth $verb is not as docs/cli.md has it; write it anew by: berth help --markdown"
        # shellcheck disable=SC2086
        diff <("$BERTH" $verb --help) \
            <(sed -n "/^## berth $verb\$/,/^\`\`\`\$/p" "$ROOT/docs/cli.md" | sed '1,3d;$d')
    done < <(verbs)
}

@test "docs/cli.md lists each exit code once" {
    for code in 0 1 2 3 4 5 6 7 8; do
        [ "$(grep -c "^| $code |" "$ROOT/docs/cli.md")" -eq 1 ]
    done
}

@test "a job is checked before anybody is asked" {
    fails_with 2 submit --addr http://127.0.0.1:1
    [[ $output == *"say what to run"* ]]
    fails_with 2 submit missing.yaml
    [[ $output == *"missing.yaml"* ]]
    fails_with 2 run --addr http://127.0.0.1:1 --image dir:/x --cpu lots -- true
    [[ $output == *"--cpu"* ]]
    for name in 'A B' 9A ''; do
        fails_with 2 submit --addr http://127.0.0.1:1 --image dir:/x --env "$name=1" -- true
        [[ $output == *"--env"* ]] || [[ $output == *"/env/$name: \"$name\" is not a variable's name"* ]]
    done
    fails_with 2 run --imgae dir:/x -- true
    [[ $output == *"did you mean --image?"* ]]
    for ttl in 0s 0ms; do
        fails_with 2 server --node-ttl "$ttl" --data "$HOME/data"
        [[ $output == *"--node-ttl: must be more than 0s"* ]]
    done
    fails_with 2 run --image dir:/x true
    [[ $output == *"a command stands behind --"* ]]
}

@test "each key of the job file has a flag, or words why it has none" {
    flags=(--addr http://127.0.0.1:1 --give-up 0s --image dir:/x)
    # What comes later, as the file says it.
    for verb in run plan; do
        fails_with 2 "$verb" "${flags[@]}" --gpus=1 -- true
        [[ $output == *"--gpus: comes with a later version; leave it out for now"* ]]
    done
    for flag in gpus after pool spot port volume gpu ports volumes; do
        fails_with 2 submit "${flags[@]}" "--$flag=x" -- true
        [[ $output == *"--$flag: comes with a later version; leave it out for now"* ]]
    done
    # What the file calls otherwise.
    while read -r key flag; do
        fails_with 2 submit "${flags[@]}" "--$key=1" -- true
        [[ $output == *"unknown flag --$key; did you mean --$flag?"* ]]
    done <<'END'
limit time
replicas tasks
minAvailable min-available
onFailure on-failure
nodeSelector node-selector
preferredLabels prefer
tolerations toleration
labels label
workDir work-dir
END
    # Every key of the page, by its tables, is known as a flag in one of these ways.
    while read -r key; do
        run "$BERTH" submit "${flags[@]}" "--$key=1" -- true
        echo "$key: $output"
        [[ $output != *"unknown flag --$key"* ]] || [[ $output == *"did you mean --"* ]]
        n=$((n + 1))
    done < <(sed -n 's/^| `\([a-zA-Z]*\)` |.*/\1/p' "$ROOT/docs/job-format.md" | sort -u)
    [ "$n" -gt 30 ]
    # What is taken reaches the server; what will not do is told as of a file.
    fails_with 7 submit "${flags[@]}" --budget maxUnavailable=30% --topology hard:rack --backoff 1s --backoff-max 1m -- true
    fails_with 2 submit "${flags[@]}" --budget most=1 -- true
    [[ $output == *"/budget/most"* ]]
    fails_with 2 submit "${flags[@]}" --topology firm -- true
    [[ $output == *"--topology: "* ]]
}

@test "what zero means is said, and a bare zero is no time" {
    printf 'runtime: process\ncommand: [true]\nlimit: 0\n' >zero.yaml
    sed -i 's/\[true\]/["true"]/' zero.yaml
    fails_with 2 submit zero.yaml --addr http://127.0.0.1:1
    [[ $output == *'zero.yaml:3:1: /limit: must be text with a unit, such as "30s"'* ]]
    sed -i 's/limit: 0/limit: 0s/' zero.yaml
    fails_with 7 submit zero.yaml --addr http://127.0.0.1:1 --give-up 0s
    # In quotes and behind a flag it is no more of one.
    sed -i "s/limit: 0s/limit: '0'/" zero.yaml
    fails_with 2 submit zero.yaml --addr http://127.0.0.1:1
    [[ $output == *'zero.yaml:3:1: /limit: "0" is not a duration'* ]]
    printf 'runtime: process\ncommand: ["true"]\n' >plain.yaml
    for flag in time deadline grace; do
        fails_with 2 submit plain.yaml "--$flag" 0 --addr http://127.0.0.1:1
        [[ $output == *"--$flag: \"0\" is not a duration"* ]]
    done
    fails_with 2 job set j-1 --time 0
    fails_with 2 cancel j-1 --grace 0 --addr http://127.0.0.1:1
    fails_with 2 ps --give-up 0
    fails_with 2 wait j-1 --timeout 0 --addr http://127.0.0.1:1
    fails_with 2 server --data data --node-ttl 0
    for flag in time deadline backoff grace; do
        "$BERTH" submit --help | grep -q -- "--$flag .*0s: "
    done
    for key in limit deadline grace retries; do
        grep "^| \`$key\`" "$ROOT/docs/job-format.md" | grep -q '`0s`'
    done
}

@test "a job file's faults are told with their line" {
    printf 'name: x\nimage: dir:/x\ncomand: [true]\n' >job.yaml
    fails_with 2 submit job.yaml
    [[ $output == *"job.yaml:3:"* ]]
    [[ $output == *"command"* ]]
    printf '#!/bin/sh\n#BERTH --image dir:/x --cpu lots\ntrue\n' >job.sh
    fails_with 2 submit job.sh
    [[ $output == *"job.sh:2:"* ]]
    fails_with 2 submit -o json job.yaml
    [ "$(jq -r '.errors[0].pointer' <<<"$output")" = /comand ]
}

@test "what a flag says stands in no file, and one fault hides no other" {
    printf 'runtime: process\ncommand: ["true"]\nlimit: 1h\n' >fine.yaml
    fails_with 2 run fine.yaml --time -5m --addr http://127.0.0.1:1
    [ "$output" = 'command line: /limit: --time: "-5m" is negative' ]
    printf 'runtime: process\nruntime: crun\ncommand: ["true"]\nlimit: 5\n' >twice.yaml
    fails_with 2 submit twice.yaml --grace -1s
    [[ $output == *"twice.yaml:2:1: /runtime: the key stands here twice"* ]]
    [[ $output == *"twice.yaml:4:1: /limit: must be text with a unit"* ]]
    [[ $output == *'command line: /grace: --grace: "-1s" is negative'* ]]
    fails_with 2 submit -o json fine.yaml --time -5m
    jq -e '.errors | length == 1 and (.[0] | has("line") | not)' <<<"$output"
}

@test "of several jobs none is tried once no server is there, and that is said" {
    fails_with 7 job hold j-1 j-2 j-3 --give-up 0s --addr http://127.0.0.1:1
    [[ $output == *"berth: j-1: http://127.0.0.1:1"*"berth: not tried: j-2, j-3"* ]]
}

@test "a store that is gone with its server is never restored" {
    fails_with 2 server --store memory: --restored
    [[ $output == *"the store memory: is gone with its server"* ]]
}

@test "words of jobs, tasks and numbers are checked" {
    fails_with 2 wait j-x/y.z --addr http://127.0.0.1:1
    fails_with 2 ps --limit 0 --addr http://127.0.0.1:1
    fails_with 2 wait j-1 --timeout soon --addr http://127.0.0.1:1
    fails_with 2 queue set research --addr http://127.0.0.1:1
    fails_with 2 queue create research --cap cpu --addr http://127.0.0.1:1
    fails_with 2 cancel
    [[ $output == *"JOB is missing"* ]]
}

@test "aliases of verbs" {
    [ "$("$BERTH" help node ls)" = "$("$BERTH" help node list)" ]
    [ "$("$BERTH" help job describe)" = "$("$BERTH" help job show)" ]
    [ "$("$BERTH" help queue rm)" = "$("$BERTH" help queue delete)" ]
    [ "$("$BERTH" help job cancel)" = "$("$BERTH" help cancel)" ]
}
