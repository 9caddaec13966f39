#!/usr/bin/env bats
# Jobs from submit to end: gangs, queues, nodes, reasons to wait, in all the forms of asking.

load helper

setup_file() {
    needs_root
    start_dev --offer fpga=2
}

teardown_file() {
    stop_dev
}

process_job() { # NAME REPLICAS COMMAND...: a job file for the process runtime
    local name=$1 replicas=$2
    shift 2
    jq -n --arg name "$name" --argjson n "$replicas" \
        '{name:$name, groups:[{replicas:$n, runtime:"process", command:$ARGS.positional}]}' --args "$@" \
        >"$BATS_TEST_TMPDIR/$name.json"
    echo "$BATS_TEST_TMPDIR/$name.json"
}

@test "a gang of three starts whole and ends well" {
    id=$("$BERTH" submit -o id "$ROOT/examples/hello.yaml" --image "$(image)")
    run "$BERTH" wait "$id" --timeout 60s
    [ "$status" -eq 0 ]
    [ "$("$BERTH" job show "$id" -o json | jq -r '.tasks.succeeded // .succeeded')" = 3 ]
    run "$BERTH" logs "$id"
    [ "$(echo "$output" | grep -c 'hello')" -ge 3 ]
    run "$BERTH" job timeline "$id"
    [ "$status" -eq 0 ]
    for phase in queue image root start; do
        [[ $output == *"$phase"* ]]
    done
    # As rows the attempts have one head, and each row says whose it is.
    run "$BERTH" job timeline "$id" -o csv
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = PHASE,START,TOOK,NOTE,ATTEMPT,NODE ]
    [ "$(grep -c PHASE <<<"$output")" = 1 ]
    [ "$(tail -n +2 <<<"$output" | cut -d, -f5 | sort -u | grep -c "^$id/")" = 3 ]
}

@test "YAML, JSON, #BERTH lines and flags make the same job" {
    cat >"$BATS_TEST_TMPDIR/a.yaml" <<'Y'
name: same
runtime: process
command: [/bin/true]
resources: {cpu: 100m, memory: 32Mi}
Y
    cat >"$BATS_TEST_TMPDIR/a.json" <<'J'
{"name":"same","runtime":"process","command":["/bin/true"],"resources":{"cpu":"100m","memory":"32Mi"}}
J
    a=$("$BERTH" submit -o id "$BATS_TEST_TMPDIR/a.yaml")
    b=$("$BERTH" submit -o id "$BATS_TEST_TMPDIR/a.json")
    c=$("$BERTH" submit -o id --name same --runtime process --cpu 100m --memory 32Mi -- /bin/true)
    "$BERTH" wait "$a" "$b" "$c" --timeout 60s
    for id in "$a" "$b" "$c"; do
        "$BERTH" job show "$id" -o json | jq -S .spec
    done | jq -s 'unique | length' | grep -qx 1
}

@test "a script with #BERTH lines runs" {
    cat >"$BATS_TEST_TMPDIR/eval.sh" <<'S'
#!/bin/sh
#BERTH --runtime process --tasks 2 --name eval
echo "shard $BERTH_INDEX of $BERTH_COUNT"
S
    id=$("$BERTH" submit -o id "$BATS_TEST_TMPDIR/eval.sh")
    "$BERTH" wait "$id" --timeout 60s
    run "$BERTH" logs "$id"
    [[ $output == *"shard 0 of 2"* ]]
    [[ $output == *"shard 1 of 2"* ]]
}

@test "words behind -- are a script's arguments" {
    printf '#!/bin/sh\n#BERTH --runtime process\necho "$#: $1, $2"\n' >"$BATS_TEST_TMPDIR/args.sh"
    run --separate-stderr "$BERTH" run --quiet "$BATS_TEST_TMPDIR/args.sh" -- one 'two three'
    [ "$status" -eq 0 ]
    [ "$output" = "2: one, two three" ]
}

@test "the same key gives the same job; another body is refused" {
    file=$(process_job keyed 1 /bin/true)
    a=$("$BERTH" submit -o id "$file" --key k-1)
    b=$("$BERTH" submit -o id "$file" --key k-1)
    [ "$a" = "$b" ]
    run "$BERTH" submit "$(process_job keyed2 1 /bin/false)" --key k-1
    [ "$status" -eq 5 ]
    [[ $output == *KEY_REUSED* ]]
}

@test "a job larger than any node is accepted and says why it waits" {
    id=$("$BERTH" submit -o id --runtime process --cpu 100000 -- /bin/true)
    until_true 20 sh -c "'$BERTH' explain $id | grep -q LARGER_THAN_ANY_NODE"
    "$BERTH" cancel "$id"
    job_is "$id" cancelled
}

@test "a counter that the node declares is held and given back" {
    a=$("$BERTH" submit -o id --runtime process --resource fpga=2 -- sleep 600)
    until_true 20 job_is "$a" running
    b=$("$BERTH" submit -o id --runtime process --resource fpga=1 -- /bin/true)
    until_true 20 sh -c "'$BERTH' explain $b | grep -q INSUFFICIENT_COUNTER"
    "$BERTH" cancel "$a"
    run "$BERTH" wait "$b" --timeout 60s
    [ "$status" -eq 0 ]
}

@test "a job is suspended and resumed, and no try is spent" {
    id=$("$BERTH" submit -o id --tasks 2 --runtime process -- sleep 1000)
    until_true 20 sh -c "'$BERTH' job show $id -o json | jq -e '.tasks.running==2'"
    "$BERTH" job suspend "$id" --grace 1s --reason "the demo"
    until_true 20 job_is "$id" pending
    "$BERTH" job show "$id" -o json | jq -e '.suspended and .reasons[0].code == "SUSPENDED"'
    run "$BERTH" explain "$id"
    [[ $output == *"/suspended true -> false"* ]]
    curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq -e \
        'all(.items[]; .cause == "REQUEUED" and .then == "again" and .tries == 0 and .message == "suspended by admin: the demo")'
    "$BERTH" job suspend "$id" | grep -q "(suspended)" # twice is as once
    "$BERTH" job resume "$id"
    until_true 20 sh -c "'$BERTH' job show $id -o json | jq -e '.tasks.running==2 and (.suspended|not)'"
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
    run "$BERTH" job suspend "$id"
    [ "$status" -eq 5 ]
    run "$BERTH" job suspend "$id/0"
    [ "$status" -eq 2 ]
}

@test "a job is requeued, also when it is over" {
    id=$("$BERTH" submit -o id --name again --label run=a --label old=x --runtime process -- /bin/sh -c 'sleep 1000')
    until_true 20 job_is "$id" running
    began=$("$BERTH" job show "$id" -o json | jq -r .startedAt)
    "$BERTH" job requeue "$id" --grace 1s
    until_true 20 sh -c "'$BERTH' job show $id --tasks -o json | jq -e '.items[0].number==2 and .items[0].state==\"running\"'"
    # RUNNING is that of this try, though the job began before.
    "$BERTH" job show "$id" -o json | jq -e --arg began "$began" '.startedAt == $began and .runningSince > $began'
    "$BERTH" job set "$id" --label run=b --label old- --priority 7
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
    run "$BERTH" job requeue "$id" -o json
    [ "$status" -eq 0 ]
    next=$(jq -r .id <<<"$output")
    [ "$next" != "$id" ]
    "$BERTH" job show "$next" -o json | jq -e '.name == "again" and .labels == {run: "b"} and .priority == 7'
    # The last label is taken away too.
    "$BERTH" job set "$next" --label run-
    "$BERTH" cancel "$next"
    until_true 20 job_is "$next" cancelled
    next=$("$BERTH" job requeue "$next" -o id)
    "$BERTH" job show "$next" -o json | jq -e '.name == "again" and (.labels // {}) == {}'
    "$BERTH" cancel "$next"
}

@test "lists are sorted, cut and watched" {
    node=$("$BERTH" node list -o name)
    a=$("$BERTH" submit -o id --quiet --name sorted-a --priority 3 --cpu 1000 --runtime process -- true)
    b=$("$BERTH" submit -o id --quiet --name sorted-b --priority 9 --cpu 1000 --runtime process -- true)
    [ "$("$BERTH" ps --sort -PRI --state pending --quiet)" = "$b"$'\n'"$a" ]
    [ "$("$BERTH" ps --sort priority --quiet --limit 1 2>/dev/null)" = "$a" ]
    [ "$("$BERTH" ps -o csv --no-header --name sorted-b | cut -d, -f1-5)" = "$b,sorted-b,default,9,pending" ]
    [ "$("$BERTH" ps --name sorted-a -o 'template={name}:{tasks.total}')" = sorted-a:1 ]
    # Times go by their length, and what has none is last.
    c=$("$BERTH" submit -o id --quiet --name sorted-c --time 90m --cpu 1000 --runtime process -- true)
    "$BERTH" job set "$a" --time 2h
    "$BERTH" job set "$c" --time +5m
    [ "$("$BERTH" ps --sort limit --state pending --quiet)" = "$c"$'\n'"$a"$'\n'"$b" ]
    [ "$("$BERTH" ps --sort -limit --state pending --quiet)" = "$a"$'\n'"$c"$'\n'"$b" ]
    [ "$("$BERTH" ps --name sorted-c -o 'template={name} {limit} {limitSubmitted}')" = "sorted-c 1h35m 1h30m" ]
    "$BERTH" cancel "$c"
    run "$BERTH" ps --sort colour
    [ "$status" -eq 2 ]
    [[ $output == *"want one of id name"* ]]
    # Heads of columns, as they are shown or typed: each of each list.
    for noun in job node queue token order; do
        for head in $("$BERTH" "$noun" list -o csv | head -1 | tr , ' '); do
            "$BERTH" "$noun" list --sort "$head" --quiet >/dev/null
            "$BERTH" "$noun" list --sort "-$head" --limit 1 -o jsonl >/dev/null
        done
    done
    for head in ID name Queue TASKS -WAITING Running NAMESPACE USER -AGE age SUBMITTED ENDED exit; do
        "$BERTH" ps -a --sort "$head" --quiet >/dev/null
    done
    for head in NODE STATE cpu -MEM TASKS AGE; do
        [ "$("$BERTH" node list --sort "$head" --quiet)" = "$node" ]
    done
    "$BERTH" queue list --sort -PENDING --quiet >/dev/null
    [ "$("$BERTH" node list -l host/name --state ready,cordoned --sort -free.cpu --quiet)" = "$node" ]
    [ -z "$("$BERTH" node list -l gone --quiet)" ]
    # What changes is appended; what leaves the list is printed once more, as it ended.
    "$BERTH" ps -w -o jsonl --name sorted-a >"$BATS_TEST_TMPDIR/jobs" 3>&- &
    jobs=$!
    "$BERTH" node list -w -o jsonl >"$BATS_TEST_TMPDIR/nodes" 3>&- &
    nodes=$!
    until_true 20 grep -q '"pending"' "$BATS_TEST_TMPDIR/jobs"
    until_true 20 grep -q '"ready"' "$BATS_TEST_TMPDIR/nodes"
    "$BERTH" cancel "$a" "$b"
    "$BERTH" node cordon "$node"
    until_true 20 grep -q '"cancelled"' "$BATS_TEST_TMPDIR/jobs"
    until_true 20 grep -q '"cordoned"' "$BATS_TEST_TMPDIR/nodes"
    kill "$jobs" "$nodes"
    "$BERTH" node uncordon "$node"
    curl -sS -N -m 20 -H "Authorization: Bearer $(cat "$BERTH_TOKEN_FILE")" \
        "$BERTH_ADDR/v1/jobs?watch=1&from=0&state=pending&name=sorted-b" >"$BATS_TEST_TMPDIR/watch" 3>&- &
    watch=$!
    until_true 20 grep -q '"left":true' "$BATS_TEST_TMPDIR/watch"
    kill "$watch"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/watch" | jq -r '.type + " " + .object.name')" = "job.submitted sorted-b" ]
}

@test "a plan says what would be, and changes nothing" {
    run "$BERTH" plan --name small --cpu 100m --tasks 2 --runtime process -- true
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"would START now: 2 of 2 tasks"* ]]
    [[ $output =~ task.1\ +[a-z] ]]
    run "$BERTH" plan --name large --cpu 1000 --runtime process -- true
    [ "$status" -eq 4 ]
    [[ $output == *"would WAIT"*LARGER_THAN_ANY_NODE*"WOULD START NOW IF"*"/groups/0/resources/cpu 1000 ->"* ]]
    run "$BERTH" plan --cpu 1000 --runtime process -o json -- true
    [ "$status" -eq 4 ]
    [ "$(jq -r '.outcome + " " + .explain.code' <<<"$output")" = "wait LARGER_THAN_ANY_NODE" ]
    [ -z "$("$BERTH" ps -a --name large -o id)" ]
    run "$BERTH" plan --cpu lots --runtime process -- true
    [ "$status" -eq 2 ]
}

@test "a job is held, changed and released" {
    id=$("$BERTH" submit -o id --runtime process --cpu 250m --memory 64Mi -- true)
    "$BERTH" wait "$id" --timeout 60s
    "$BERTH" node cordon "$("$BERTH" node list -o id)"
    id=$("$BERTH" submit -o id --runtime process --cpu 250m --memory 64Mi -- true)
    [ "$("$BERTH" job hold "$id")" = "$id  pending (held)" ]
    "$BERTH" job set "$id" --priority 7 --label run=b --label old=x
    "$BERTH" job set "$id" --label old-
    "$BERTH" job show "$id" -o json | jq -e '.held and .priority == 7 and .labels == {run: "b"}'
    "$BERTH" node uncordon "$("$BERTH" node list -o id)"
    until_true 20 sh -c "'$BERTH' explain $id | grep -q HELD"
    # A list in wide says what is asked.
    "$BERTH" ps -o wide | grep -E "^$id .* 0.25 +64Mi "
    curl_api GET /v1/jobs | head -n -1 | jq -e '[.items[].resources] | unique == [null]'
    "$BERTH" job release "$id"
    "$BERTH" wait "$id" --timeout 60s
    run "$BERTH" job hold "$id/0"
    [ "$status" -eq 2 ]
}

@test "a cordoned node takes nothing until it is uncordoned" {
    node=$("$BERTH" node list -o name)
    "$BERTH" node cordon "$node" --reason 'kernel update'
    id=$("$BERTH" submit -o id --runtime process -- /bin/true)
    until_true 20 sh -c "'$BERTH' explain $id | grep -q 'NODE_CORDONED .* is cordoned'"
    "$BERTH" node list -o wide | grep -q 'kernel update'
    "$BERTH" node uncordon "$node"
    "$BERTH" wait "$id" --timeout 60s
}

@test "a gang that does not fit starts none of it" {
    cpus=$("$BERTH" node list -o json | jq -r '.items[0].offers.cpu')
    id=$("$BERTH" submit -o id --runtime process --cpu "$cpus" --tasks 2 --gang -- sleep 600)
    until_true 20 sh -c "'$BERTH' explain $id | grep -qE 'GANG_INCOMPLETE|LARGER_THAN_CLUSTER'"
    [ "$("$BERTH" job show "$id" -o json | jq '[.attempts[]?] | length')" = 0 ]
    "$BERTH" cancel "$id"
}

@test "queues are made, closed, opened and deleted" {
    "$BERTH" queue create research
    "$BERTH" queue create nlp --parent research
    "$BERTH" queue list | grep -q nlp
    "$BERTH" queue set nlp --state closed
    run "$BERTH" submit -q nlp --runtime process -- /bin/true
    [ "$status" -ne 0 ]
    [[ $output == *nlp* ]]
    "$BERTH" queue set nlp --state open
    id=$("$BERTH" submit -o id -q nlp --runtime process -- /bin/true)
    "$BERTH" wait "$id" --timeout 60s
    run "$BERTH" submit -q nlpp --runtime process -- /bin/true
    [ "$status" -ne 0 ]
    [[ $output == *nlp* ]]
    "$BERTH" queue delete nlp
    "$BERTH" queue delete research
}

@test "a failed task is tried again, then the job fails with its code" {
    id=$("$BERTH" submit -o id --runtime process --retries 2 -- sh -c 'echo try $BERTH_ATTEMPT; exit 9')
    run "$BERTH" wait "$id" --timeout 120s
    [ "$status" -eq 9 ]
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq '.items | length')" = 3 ]
    "$BERTH" job show "$id" | grep -qE '^INFO +exit 9$'
    "$BERTH" logs "$id" --task 0 --attempt 2 | grep -q 'try 2'
    "$BERTH" logs "$id" --attempt 2 | grep -q 'try 2' # of its only task
    # What is not there is told as what it is.
    run -3 "$BERTH" logs "$id" --attempt 9
    [ "$output" = "berth: $id/0 has no attempt 9" ]
    run -3 "$BERTH" logs "$id" --task 7
    [ "$output" = "berth: there is no task $id/7" ]
    waits=$("$BERTH" submit -o id --runtime process --node-selector disk=none -- /bin/true)
    run -3 "$BERTH" logs "$waits"
    [ "$output" = "berth: $waits has not been placed yet, so there is no log" ]
    run -0 "$BERTH" job timeline "$waits"
    [ "$output" = "berth: $waits has not been placed yet" ]
    run -3 "$BERTH" logs "$waits/task.0"
    [ "$output" = "berth: $waits/task.0 has not been placed yet, so there is no log" ]
    "$BERTH" cancel "$waits"
}

@test "wait prints each end in the form that is asked for" {
    good=$("$BERTH" submit -o id --runtime process -- true)
    bad=$("$BERTH" submit -o id --runtime process -- sh -c 'exit 9')
    # JSON is the job as the API has it; the code is the largest, whatever the form.
    run --separate-stderr "$BERTH" wait "$good" "$bad" -o json --timeout 60s
    [ "$status" -eq 9 ]
    jq -se --arg good "$good" --arg bad "$bad" 'map({(.id): [.state, .code]}) | add == {
        ($good): ["succeeded", 0], ($bad): ["failed", 9]}' <<<"$output"
    [ "$(jq -cS . <<<"$output" | sort)" = "$(for id in "$good" "$bad"; do "$BERTH" job show "$id" -o json | jq -cS .; done | sort)" ]
    run "$BERTH" wait "$good" "$bad" -o jsonl --exit-code=state
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" = 2 ]
    run "$BERTH" wait "$good" "$bad" -o cols=ID,STATE
    [ "$status" -eq 9 ]
    [ "${#lines[@]}" = 3 ] # one head
    [[ ${lines[0]} == ID* ]]
    run "$BERTH" wait "$good" -o id
    [ "$status" -eq 0 ]
    [ "$output" = "$good" ]
    run "$BERTH" wait "$good"
    [ "$output" = "$good  succeeded  exit 0" ]
    run "$BERTH" wait "$good" --quiet -o json
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run "$BERTH" wait "$good" -o cols=NONE
    [ "$status" -eq 2 ]
    # A job that is not over prints nothing, but who has ended does, and its code waits for no other.
    id=$("$BERTH" submit -o id --runtime process -- sleep 600)
    run --separate-stderr "$BERTH" wait "$good" "$id" -o name --timeout 1s
    [ "$status" -eq 8 ]
    [ "${#lines[@]}" = 1 ]
    "$BERTH" cancel "$id"
}

@test "wait goes on with the others where one is not there, and names it" {
    a=$("$BERTH" submit -o id --runtime process -- /bin/true)
    b=$("$BERTH" submit -o id --runtime process -- sh -c 'sleep 1; exit 2')
    run "$BERTH" wait "$a" nosuch "$b" --timeout 60s
    [ "$status" -eq 3 ]
    [[ $output == *nosuch* ]]
    [[ $output == *"$b  failed"* ]]
    # An id is not looked up before: it is not there when it is waited for.
    run "$BERTH" wait "$a" j-999999 "$b" --timeout 60s
    [ "$status" -eq 3 ]
    [[ $output == *j-999999* ]]
    [[ $output == *"$b  failed"* ]]
    run "$BERTH" wait nosuch
    [ "$status" -eq 3 ]
}

@test "wait gives a time-out its own code" {
    id=$("$BERTH" submit -o id --runtime process -- sleep 600)
    run "$BERTH" wait "$id" --timeout 1s
    [ "$status" -eq 8 ]
    "$BERTH" cancel "$id"
}

@test "wait without any time looks once, and waits for no server" {
    id=$("$BERTH" submit -o id --runtime process -- sh -c 'exit 7')
    run "$BERTH" wait "$id" --timeout 60s
    run "$BERTH" wait "$id" --timeout 0s
    [ "$status" -eq 7 ]
    [[ $output == *"exit 7"* ]]
    other=$("$BERTH" submit -o id --runtime process -- sleep 60)
    run "$BERTH" wait "$id" "$other" --timeout 0s
    [ "$status" -eq 8 ]
    [[ $output == *"1 of 2 jobs are not over yet"* ]]
    "$BERTH" cancel "$other"
    run timeout 20 "$BERTH" wait --addr http://127.0.0.1:1 "$id" --timeout 0s
    [ "$status" -eq 7 ]
    [[ $output == *"127.0.0.1:1"* ]]
}

@test "without grace nobody is asked: KILL at once" {
    id=$("$BERTH" submit -o id --grace 0s --time 1s --runtime process -- sleep 600)
    run "$BERTH" wait "$id" --timeout 60s
    [ "$status" -eq 137 ] # 143 were TERM
}

@test "10,000 tasks in one job are shown, and stop" {
    id=$("$BERTH" submit -o id --name many --runtime process --tasks 10000 --cpu 1 -- sleep 600)
    until_true 20 sh -c "'$BERTH' ps | grep many | grep -q 10000"
    "$BERTH" cancel "$id"
    until_true 60 job_is "$id" cancelled
}

# limit_of JOB: as it is now.
limit_of() { "$BERTH" job show "$1" -o json | jq -r '.spec.limit // "none"'; }

@test "the time limit of what runs is raised, lowered and taken away" {
    # Raised in good time it is not heard of.
    id=$("$BERTH" submit -o id --runtime process --time 8s -- sh -c 'sleep 9; exit 3')
    until_true 20 job_is "$id" running
    "$BERTH" job set "$id" --time 1h
    [ "$(limit_of "$id")" = 1h ]
    # Below what has passed it ends the task, by the monitor that has it.
    low=$("$BERTH" submit -o id --runtime process --grace 1s -- sleep 600)
    until_true 20 job_is "$low" running
    "$BERTH" job set "$low" --time 100ms
    run "$BERTH" wait "$low" --timeout 60s
    [ "$status" -ne 0 ] && [ "$status" -ne 8 ]
    [[ $output == *LIMIT_REACHED* ]]
    curl_api GET "/v1/jobs/$low/attempts" | head -n -1 | jq -e '.items[-1].cause == "LIMIT_REACHED"'
    run "$BERTH" job set "$low" --time 1h
    [ "$status" -eq 5 ]
    # Of one that waits it is what it starts with.
    waits=$("$BERTH" submit -o id --runtime process --resource fpga=9 -- sleep 600)
    "$BERTH" job set "$waits" --time 2h
    [ "$(limit_of "$waits")" = 2h ]
    "$BERTH" job set "$waits" --time 0s --priority 7
    [ "$(limit_of "$waits")" = none ]
    run curl_api PATCH "/v1/jobs/$waits" -H 'If-Match: *' -H 'Content-Type: application/json' -d '{"limit":5}'
    [ "${lines[-1]}" = 422 ]
    [[ $output == *'"/limit"'* ]]
    run curl_api PATCH "/v1/jobs/$waits" -H 'If-Match: *' -H 'Content-Type: application/json' -d '{"limit":"3h"}'
    [ "${lines[-1]}" = 200 ]
    run curl_api PATCH "/v1/jobs/$waits" -H 'If-Match: *' -H 'Content-Type: application/json' -d '{"limit":null}'
    [ "${lines[-1]}" = 200 ]
    [ "$(limit_of "$waits")" = none ]
    "$BERTH" cancel "$waits"
    run "$BERTH" wait "$id" --timeout 60s
    [ "$status" -eq 3 ]
}

@test "a time limit is moved by so much, and job show says what it was" {
    id=$("$BERTH" submit -o id --runtime process --time 1h -- sleep 600)
    until_true 20 job_is "$id" running
    [ "$("$BERTH" job show "$id" | sed -n 's/^LIMIT *//p')" = 1h ]
    [ "$("$BERTH" job set "$id" --time +30m --priority 5)" = "$id  running  priority 0 -> 5  limit 1h -> 1h30m" ]
    [ "$("$BERTH" job show "$id" | sed -n 's/^LIMIT *//p')" = "1h30m (submitted with 1h)" ]
    "$BERTH" ps -o cols=ID,LIMIT --no-header | grep -q "^$id  1h30m (submitted with 1h)"
    [ "$("$BERTH" job set "$id" --time -30m)" = "$id  running  limit 1h30m -> 1h" ]
    [ "$("$BERTH" job show "$id" | sed -n 's/^LIMIT *//p')" = 1h ]
    run "$BERTH" job set "$id" --time -1h
    [ "$status" -eq 2 ]
    [[ $output == *"/limit: nothing is left of its 1h"* ]]
    run "$BERTH" job set "$id" --time +soon
    [ "$status" -eq 2 ]
    [[ $output == *'"soon" is not a duration'* ]]
    # Moved below what has passed it ends what runs.
    "$BERTH" job set "$id" --time -3599900ms
    run "$BERTH" wait "$id" --timeout 60s
    [[ $output == *LIMIT_REACHED* ]]
}

@test "of several jobs each is changed, and an error names its own" {
    a=$("$BERTH" submit -o id --runtime process --time 1h --cpu 1000 -- true)
    b=$("$BERTH" submit -o id --runtime process --cpu 1000 -- true)
    run "$BERTH" job set j-99999 "$a" --priority 7
    [ "$status" -eq 3 ]
    [[ $output == *"berth: j-99999: there is no job"*"$a  pending  priority 0 -> 7"* ]]
    # The worst of all is the command's.
    run "$BERTH" job set "$b" j-99999 "$a" --time +5m
    [ "$status" -eq 3 ]
    [[ $output == *"berth: $b: /limit: there is none that could be moved"*"berth: j-99999: "*"$a  pending  limit 1h -> 1h5m"* ]]
    for verb in hold release suspend resume requeue show; do
        run "$BERTH" job "$verb" j-99999 "$a"
        [ "$status" -eq 3 ]
        [[ $output == *"berth: j-99999: there is no job"* ]]
        [[ $output == *"$a"* ]]
    done
    run "$BERTH" job hold j-99999 "$a" -o json --no-header
    [ "$(grep -h about <<<"$output" | jq -r '.code + " " + .about')" = "NOT_FOUND j-99999" ]
    run "$BERTH" cancel j-99999 "$a" "$b"
    [ "$status" -eq 3 ]
    job_is "$a" cancelled && job_is "$b" cancelled
    # One alone needs no name before its error.
    run "$BERTH" job hold j-99999
    [ "$output" = 'berth: there is no job j-99999  NOT_FOUND' ]
    run "$BERTH" node cordon nowhere "$("$BERTH" node list -o name)"
    [ "$status" -eq 3 ]
    [[ $output == *"berth: nowhere: there is no node"*cordoned* ]]
    node=$("$BERTH" node list -o name)
    "$BERTH" node uncordon "$node"
    # One letter too many.
    run -3 "$BERTH" node cordon "${node}x"
    [ "$output" = "berth: there is no node ${node}x; did you mean $node?  NOT_FOUND" ]
    run -3 "$BERTH" node show "${node}x"
    [ "$output" = "berth: there is no node ${node}x; did you mean $node?  NOT_FOUND" ]
}

@test "a queue says how long the limit of its jobs may be" {
    "$BERTH" queue create brief --max-limit 2h
    [ "$("$BERTH" queue show brief | sed -n 's/^MAX_LIMIT *//p')" = 2h ]
    printf 'queue: brief\nruntime: process\ncommand: [sleep, "600"]\nlimit: 3h\n' >"$BATS_TEST_TMPDIR/long.yaml"
    for verb in submit plan; do
        run "$BERTH" "$verb" "$BATS_TEST_TMPDIR/long.yaml"
        [ "$status" -eq 2 ]
        [[ $output == *"long.yaml:4:1: /limit: 3h is above the longest limit of queue brief, which is 2h"* ]]
    done
    # Who says none has that; the key goes by what was said.
    id=$("$BERTH" submit -o id -q brief --runtime process --key brief-1 -- sleep 600)
    until_true 20 job_is "$id" running
    [ "$("$BERTH" job show "$id" | sed -n 's/^LIMIT *//p')" = "2h (submitted with none)" ]
    run "$BERTH" job set "$id" --time +1ms
    [ "$status" -eq 2 ]
    [[ $output == *"/limit: 2h1ms is above the longest limit of queue brief, which is 2h  INVALID_FIELD"* ]]
    run "$BERTH" job set "$id" --time 0s
    [ "$status" -eq 2 ]
    # A bound that comes later leaves it alone; it may have less, never more.
    "$BERTH" queue set brief --max-limit 10s
    [ "$("$BERTH" submit -o id -q brief --runtime process --key brief-1 -- sleep 600)" = "$id" ]
    [ "$("$BERTH" job show "$id" | sed -n 's/^LIMIT *//p')" = "2h (submitted with none)" ]
    run "$BERTH" job set "$id" --time +1s
    [ "$status" -eq 2 ]
    "$BERTH" job set "$id" --time 1h
    job_is "$id" running
    # To begin anew is no way around it.
    run "$BERTH" job requeue "$id"
    [ "$status" -eq 5 ]
    [[ $output == *"has a limit of 1h, above the longest limit of queue brief, which is 10s by now"* ]]
    job_is "$id" running
    # What counts for a queue may be said by one above it.
    "$BERTH" queue create briefer --parent brief --max-limit 5m
    "$BERTH" queue create briefest --parent brief
    [ "$("$BERTH" queue show briefer | sed -n 's/^MAX_LIMIT *//p')" = "10s (of brief)" ]
    [ "$("$BERTH" queue show briefest -o json | jq -r '.longestLimit + " " + .longestLimitOf')" = "10s brief" ]
    run "$BERTH" plan -q briefest --runtime process -- true
    [[ $output == *"limit 10s (of queue brief)"* ]]
    run "$BERTH" plan -q briefest --time 5s --runtime process -- true
    [[ $output == *$'\n'"limit 5s"$'\n'* ]]
    "$BERTH" queue delete briefest briefer
    "$BERTH" queue set brief --max-limit 0s
    "$BERTH" job set "$id" --time 0s
    [ "$("$BERTH" job show "$id" | sed -n 's/^LIMIT *//p')" = "" ]
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
    "$BERTH" queue delete brief
}

@test "a gang starts whole though all or some of it asks for nothing" {
    id=$("$BERTH" submit -o id --runtime process --tasks 3 --gang -- true)
    "$BERTH" wait "$id" --timeout 60s
    printf '%s' 'minAvailable: 3
groups:
- {name: asks, runtime: process, command: ["true"], resources: {cpu: 10m}}
- {name: idle, replicas: 2, runtime: process, command: ["true"]}
' >"$BATS_TEST_TMPDIR/mixed.yaml"
    id=$("$BERTH" submit -o id "$BATS_TEST_TMPDIR/mixed.yaml")
    "$BERTH" wait "$id" --timeout 60s
}

@test "what wants a network domain where there is none says that it waits for one" {
    id=$("$BERTH" submit -o id --runtime process --cpu 1m --tasks 2 --gang --topology hard:0 -- true)
    says='TOPOLOGY +wants one network domain of tier 0 at most, the cluster has no network domains'
    until_true 20 sh -c "'$BERTH' job show '$id' | grep -qE '^INFO +$says'"
    "$BERTH" ps --no-header | grep -qE "^$id .*$says"
    run "$BERTH" explain "$id"
    [[ $output == *"PENDING  TOPOLOGY: wants one network domain of tier 0 at most, the cluster has no network domains"* ]]
    [[ $output == *"hyperNodes"* ]]
    "$BERTH" explain "$id" -o json | jq -e '.reason.has == "no network domains"'
    run "$BERTH" plan --runtime process --cpu 1m --topology hard:0 -- true
    [ "$status" -eq 4 ]
    [[ $output == *"the cluster has no network domains"* ]]
    "$BERTH" cancel "$id"
}

# speaks_every_format WORDS...: a verb that lists or shows, and its arguments.
speaks_every_format() {
    local format lines
    for format in table wide json jsonl yaml name id csv; do
        run "$BERTH" "${@:1:$n_verb}" -o $format "${@:$((n_verb + 1))}"
        echo "$* -o $format: exit $status: $output"
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -gt 0 ]
        case $format in
        json) jq -e . <<<"$output" >/dev/null ;;
        jsonl) [ "$(jq -c . <<<"$output" | wc -l)" = "${#lines[@]}" ] ;;
        name | id) nothing grep -qE '^ *$' <<<"$output" ;;
        csv) [ "$(grep -cxF -- "${lines[0]}" <<<"$output")" = 1 ] ;;
        esac
    done
}

@test "every verb that lists or shows speaks every format" {
    id=$("$BERTH" submit -o id --runtime process -- /bin/true)
    waits=$("$BERTH" submit --quiet -o id --runtime process --cpu 100000 -- /bin/true)
    "$BERTH" wait "$id" --timeout 60s
    n_verb=2
    for list in "job list -a" "node list" "queue list" "token list"; do
        # shellcheck disable=SC2086 # the verb is two words
        speaks_every_format $list
        # shellcheck disable=SC2086
        "$BERTH" $list -o json | jq -e '.items and .revision' >/dev/null
    done
    speaks_every_format job show "$id"
    speaks_every_format job show "$id" --tasks
    speaks_every_format job timeline "$id"
    speaks_every_format node show "$("$BERTH" node list -o name)"
    speaks_every_format queue show default
    speaks_every_format queue why default
    speaks_every_format explain code HELD
    speaks_every_format event watch --from 1 --limit 3
    n_verb=1
    speaks_every_format ps -a
    speaks_every_format explain "$waits"
    speaks_every_format plan --runtime process -- /bin/true
    speaks_every_format version --server
    [ "$("$BERTH" explain "$waits" -o id)" = "$waits" ]
    [ "$("$BERTH" job timeline "$id" -o id)" = "$id" ]
    "$BERTH" cancel "$waits"
    # Nothing is left out where programs read it.
    [ "$("$BERTH" plan --runtime process --tasks 30 --cpu 1m -o id -- /bin/true | sort -u | wc -l)" = 30 ]
    [ "$("$BERTH" plan --runtime process --tasks 30 --cpu 1m -o csv -- /bin/true | wc -l)" = 31 ]
}

@test "an unknown word is refused with the nearest, also where the server or the environment says it" {
    run "$BERTH" ps --state runing
    [ "$status" -eq 2 ]
    [[ $output == *"state=runing: there is no such state; did you mean running?"* ]]
    run "$BERTH" node list --state zzzzzzz
    [ "$status" -eq 2 ]
    [[ $output == *"there is no such state  BAD_REQUEST"* ]]
    BERTH_OUTPUT=jsn run "$BERTH" ps
    [ "$status" -eq 2 ]
    [[ $output == *"unknown word 'jsn'; did you mean 'json'?"* ]]
}

@test "completion asks the server for names, and knows what lists are sorted by" {
    "$BERTH" completion bash >"$BATS_TEST_TMPDIR/berth.bash"
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    ln -s "$BERTH" "$BATS_TEST_TMPDIR/bin/berth"
    cat >"$BATS_TEST_TMPDIR/ask" <<END
PATH=$BATS_TEST_TMPDIR/bin:\$PATH
source $BATS_TEST_TMPDIR/berth.bash
COMP_WORDS=("\$@")
COMP_CWORD=\$((\$# - 1))
_berth
printf '%s\n' "\${COMPREPLY[@]}"
END
    ask() { bash "$BATS_TEST_TMPDIR/ask" berth "$@"; }
    node=$("$BERTH" node list -o name)
    [ "$(ask node cordon "${node:0:1}")" = "$node" ]
    [ "$(ask submit --queue defa)" = default ]
    [ "$(ask queue why defa)" = default ]
    n=0
    for noun in job node queue token order; do
        for field in $(ask "$noun" list --sort ''); do
            "$BERTH" "$noun" list --quiet --sort "$field" >/dev/null
            n=$((n + 1))
        done
    done
    [ "$n" -ge 80 ]
}

@test "events are watched from a revision on, dense and in order" {
    from=$("$BERTH" ps -o json | jq .revision)
    id=$("$BERTH" submit -o id --runtime process -- /bin/true)
    "$BERTH" wait "$id" --timeout 60s
    timeout 20 "$BERTH" event watch --from "$from" --limit 5 -o jsonl >"$BATS_TEST_TMPDIR/events"
    jq -s --argjson from "$from" 'map(.revision) == [range($from + 1; $from + 6)]' "$BATS_TEST_TMPDIR/events" | grep -qx true
    grep -q job.submitted "$BATS_TEST_TMPDIR/events"
    # A job is named as everywhere.
    [ "$(timeout 20 "$BERTH" event watch --from "$from" --job last --type job.submitted --limit 1 -o template='{subject}')" = "$id" ]
    # One that is yet to come is waited for, and that is said.
    from=$(($("$BERTH" ps -o json | jq .revision) + 3))
    timeout 60 "$BERTH" event watch --from $from --limit 1 -o jsonl >"$BATS_TEST_TMPDIR/ahead" 2>"$BATS_TEST_TMPDIR/ahead.err" 3>&- &
    watch=$!
    until_true 20 grep -q "behind revision $from, which is yet to come: the newest is [0-9]" "$BATS_TEST_TMPDIR/ahead.err"
    for name in one two three four; do
        "$BERTH" queue create "ahead-$name"
        "$BERTH" queue delete "ahead-$name"
    done
    wait "$watch"
    [ "$(jq .revision "$BATS_TEST_TMPDIR/ahead")" = $((from + 1)) ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/ahead.err")" = 1 ]
    run timeout 20 "$BERTH" event watch --job none-such
    [ "$status" -eq 3 ]
}

@test "an event's object is the thing as lists show it" {
    node=$("$BERTH" node list -o json | jq -c '.items[0] | {name, offers, labels}')
    curl_api GET '/v1/events?type=node.*&limit=1' | head -n -1 |
        jq -c '.items[-1].object | {name, offers, labels}' | grep -qxF "$node"
    curl_api GET '/v1/events?limit=3' | head -n -1 | jq '.items | length' | grep -qx 3
    id=$("$BERTH" submit -o id --runtime process --tasks 2 -- /bin/true)
    "$BERTH" wait "$id" --timeout 60s
    curl_api GET "/v1/events?job=$id&type=job.*" | head -n -1 |
        jq -ce '.items[-1].object | [.id, .tasks.succeeded, .state, has("nTasks")]' | grep -qxF "[\"$id\",2,\"succeeded\",false]"
}

@test "a running job names its nodes" {
    node=$("$BERTH" node list -o json | jq -r '.items[0].name')
    id=$("$BERTH" submit -o id --runtime process --tasks 2 --cpu 100m -- sleep 600)
    until_true 20 job_is "$id" running
    until_true 20 sh -c "'$BERTH' ps -o json | jq -e --arg id $id '.items[] | select(.id == \$id) | .nodes == [\"$node\"] and .nodeCount == 1'"
    "$BERTH" ps -o cols=ID,INFO --no-header | grep -qE "^$id +$node\$"
    "$BERTH" job show "$id" | grep -qE "^INFO +$node\$"
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
    "$BERTH" job show "$id" -o json | jq -e 'has("nodes") | not'
}

@test "the shell completes jobs, queues and nodes that are there" {
    id=$("$BERTH" submit -o id --runtime process -- sleep 600)
    node=$("$BERTH" node list -o json | jq -r '.items[0].name')
    complete() { # WORD...: what the last one is completed to
        PATH=$(dirname "$BERTH"):$PATH bash -c 'source <(berth completion bash)
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
    }
    complete berth job show j- | grep -qx "$id"
    complete berth logs "${id%?}" | grep -qx "$id"
    complete berth node show '' | grep -qx "$node"
    complete berth queue show d | grep -qx default
    complete berth submit -q d | grep -qx default
    "$BERTH" cancel "$id"
}

@test "unknown keys and values are refused with pointer, line and what was meant" {
    printf 'name: bad\nruntime: process\ncommand: [/bin/true]\nreplica: 3\n' >"$BATS_TEST_TMPDIR/bad.yaml"
    run "$BERTH" submit "$BATS_TEST_TMPDIR/bad.yaml"
    [ "$status" -eq 2 ]
    [[ $output == *replicas* ]]
    [[ $output == *4* ]]
    printf 'name: bad\nruntime: process\ncommand: [/bin/true]\ngpu: 1\n' >"$BATS_TEST_TMPDIR/bad.yaml"
    run "$BERTH" submit "$BATS_TEST_TMPDIR/bad.yaml"
    [ "$status" -eq 2 ]
    [[ $output == *later* ]]
}

@test "explain names the holder, its limit, and the changes that would help" {
    a=$("$BERTH" submit -o id --runtime process --resource fpga=1 --time 1h -- sleep 600)
    until_true 20 job_is "$a" running
    b=$("$BERTH" submit -o id --runtime process --resource fpga=2 -- /bin/true)
    run -0 "$BERTH" explain "$b"
    [[ $output == *"place 1 of 1 in default"* ]]
    [[ $output == *"fpga needs 2, free 1: 1 by $a/task.0#1"* ]]
    [[ $output == *"$a on "*" ends  by "* ]]
    [[ $output == *"/groups/0/resources/fpga 2 -> 1"* ]]
    [[ $output == *"START  latest "*"(limit of $a on "* ]]
    node=$("$BERTH" node list -o name)
    run -0 "$BERTH" explain "$b" --node "$node" --no-header -o cols=CHECK,ASKED,FREE,RESULT,HELD_BY
    [[ ${lines[0]} =~ ^ready\ +ready\ +ready\ +ok ]]
    [[ $output =~ fpga\ +2\ +1\ +FAIL\ +INSUFFICIENT_COUNTER\ +1\ by\ $a/task.0#1 ]]
    [ "$("$BERTH" explain "$b" -o csv)" = "NODE,CHECK,ASKED,FREE,RESULT,HELD_BY
$node,fpga,2,1,FAIL  INSUFFICIENT_COUNTER,1 by $a/task.0#1" ]
    # What would wait is a row too, and what does not wait has none, which is said.
    run -0 "$BERTH" plan --runtime process --resource fpga=1 --tasks 2 -o csv -- /bin/true
    [ "${lines[0]}" = TASK,NODE,TASKS,INFO ]
    [ "${lines[1]}" = "task.0,$node,1," ]
    [[ ${lines[2]} == "task,,1,"*INSUFFICIENT_COUNTER* ]]
    run -0 --separate-stderr "$BERTH" explain "$a" -o csv
    [ "$output" = NODE,CHECK,ASKED,FREE,RESULT,HELD_BY ]
    # shellcheck disable=SC2154 # set by run
    [ "$stderr" = "berth: nothing of $a waits: it is running" ]
    "$BERTH" cancel "$a"
    "$BERTH" wait "$b" --timeout 60s
}

@test "submit says when a job can never start, and refuses it if asked" {
    id=$("$BERTH" submit -o id --runtime process --node-selector disk=none -- /bin/true 2>"$BATS_TEST_TMPDIR/said")
    grep -q "$id can never start as the cluster is: LABEL_MISMATCH.*wants disk=none" "$BATS_TEST_TMPDIR/said"
    "$BERTH" explain "$id" | grep -q 'wants disk=none'
    "$BERTH" cancel "$id"
    # Of a gang it is said how many would fit.
    run "$BERTH" submit --need-feasible --runtime process --resource fpga=1 --tasks 100 --gang -- /bin/true
    [ "$status" -eq 4 ]
    [[ $output =~ LARGER_THAN_CLUSTER:\ 100\ tasks\ begin\ together,\ and\ all\ nodes\ hold\ 2 ]]
    id=$("$BERTH" submit -o id --runtime process --resource fpga=1 --tasks 100 --gang -- /bin/true 2>"$BATS_TEST_TMPDIR/said")
    grep -q "LARGER_THAN_CLUSTER.*100 tasks begin together, all nodes hold 2" "$BATS_TEST_TMPDIR/said"
    until_true 20 sh -c "'$BERTH' ps | grep '^$id ' | grep -q 'LARGER_THAN_CLUSTER.*2 of 100 fit'"
    "$BERTH" cancel "$id"
    before=$("$BERTH" ps -a -o id | wc -l)
    run "$BERTH" submit --need-feasible --runtime process --cpu 100000 -- /bin/true
    [ "$status" -eq 4 ]
    run "$BERTH" submit --need-placed --runtime process --cpu 100000 -- /bin/true
    [ "$status" -eq 4 ]
    [ "$("$BERTH" ps -a -o id | wc -l)" = "$before" ]
    id=$("$BERTH" submit -o id --need-placed --runtime process -- /bin/true)
    "$BERTH" wait "$id" --timeout 60s
}
