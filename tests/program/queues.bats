#!/usr/bin/env bats
# Queues: their settings by command line and API, and what comes of them.

load helper

setup() {
    DATA=$(mktemp -d "$BATS_TEST_TMPDIR/server.XXXXXX")
    "$BERTH" server --data "$DATA" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
    PIDS=$!
    until_true 20 test -s "$DATA/address"
    BERTH_ADDR=$(cat "$DATA/address")
    export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
    until_true 20 "$BERTH" node list --no-header
}

teardown() {
    for pid in ${PIDS:-}; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}

start_agent() {
    "$BERTH" agent --server "$BERTH_ADDR" --token-file "$DATA/agent-token" --data "$BATS_TEST_TMPDIR/one" \
        --name one --runtime process "$@" >>"$BATS_TEST_TMPDIR/one.log" 2>&1 3>&- &
    PIDS="$! $PIDS"
}

# slots QUEUE N: whether the queue holds N slots now.
slots() { [ "$("$BERTH" queue show "$1" -o json | jq -r '.usage.allocated.slot // "0"')" = "$2" ]; }

@test "a full machine is shared by weight, in the order of allocation" {
    needs_root
    "$BERTH" queue create light --weight 1
    "$BERTH" queue create heavy --weight 3
    work="while [ ! -e $BATS_TEST_TMPDIR/go ]; do sleep 0.1; done"
    light=$("$BERTH" submit -o id -q light --tasks 8 --cpu 10m --resource slot=1 --runtime process -- sh -c "$work")
    heavy=$("$BERTH" submit -o id -q heavy --tasks 8 --cpu 10m --resource slot=1 --runtime process -- sh -c "$work")
    start_agent --offer slot=4
    until_true 30 slots heavy 3
    run "$BERTH" queue why heavy --resource slot
    [ "$status" -eq 0 ]
    [[ $output =~ allocated\ +3 ]]
    [[ $output =~ holders\ +$heavy\ 3 ]]
    until_true 30 slots light 1
    # The light one came first and wants more: what it gets is its share all the same.
    "$BERTH" queue list -o json | jq -e '[.items[] | select(.name == "light" or .name == "heavy") | .usage.fairShare.slot] == ["3", "1"]'
    touch "$BATS_TEST_TMPDIR/go"
    "$BERTH" wait "$light" "$heavy" --timeout 60s
}

@test "a queue keeps all that is said of it, and shows it" {
    "$BERTH" queue create lab --cap cpu=8,memory=64Gi --guarantee cpu=4
    "$BERTH" queue create night --parent lab --weight 3 --priority -5 --state draining --deserved cpu=4,memory=8Gi \
        --guarantee cpu=2 --capability memory=16Gi --min-runtime 90s --reclaimable no
    curl_api GET /v1/queues/night | head -n -1 | jq -e 'del(.usage, .revision) == {name: "night", parent: "lab",
        state: "draining", weight: 3, priority: -5, deserved: {cpu: "4", memory: "8Gi"}, guarantee: {cpu: "2"},
        cap: {memory: "16Gi"}, minRuntime: "1m30s", reclaimable: false}'
    run "$BERTH" queue list -o wide
    [[ $output == *RECLAIMABLE*MIN_RUNTIME* ]]
    [[ $output == *"4 cpu, 8Gi memory"* ]]
    grep -qE '^night .* no +1m30s' <<<"$output"
    # What is not named stays; what is named with - is taken back.
    "$BERTH" queue set lab --cap memory=32Gi
    "$BERTH" queue show lab -o json | jq -e '.cap == {cpu: "8", memory: "32Gi"}'
    "$BERTH" queue set lab --cap cpu-
    "$BERTH" queue show lab -o json | jq -e '.cap == {memory: "32Gi"}'
    run "$BERTH" queue set lab --cap cpu
    [ "$status" -eq 2 ]
    "$BERTH" queue set lab --group-limit g1:cpu=2,memory=1Gi --group-limit g2:cpu=1
    "$BERTH" queue set lab --group-limit g1:cpu=4
    "$BERTH" queue show lab -o json | jq -e '.nodeGroupLimits == {g1: {cpu: "4", memory: "1Gi"}, g2: {cpu: "1"}}'
    # What is not named stays; a parent may change.
    "$BERTH" queue set night --weight 1 --parent root
    curl_api GET /v1/queues/night | head -n -1 | jq -e '.weight == 1 and .parent == "root" and .minRuntime == "1m30s"'
}

@test "a queue takes every key of a scenario document" {
    "$BERTH" queue create odd --preemption never --hierarchy root/eng/dev --hierarchy-weights 100/50/50 \
        --require-groups g1,g2 --prefer-groups g2 --forbid-groups g3 --avoid-groups g4 --group-limit g1:cpu=3,memory=1Gi
    want='{preemption: "never", hierarchy: "root/eng/dev", hierarchyWeights: "100/50/50",
        nodeGroupAffinity: {required: ["g1", "g2"], preferred: ["g2"]},
        nodeGroupAntiAffinity: {required: ["g3"], preferred: ["g4"]}, nodeGroupLimits: {g1: {cpu: "3", memory: "1Gi"}}}'
    is='{preemption, hierarchy, hierarchyWeights, nodeGroupAffinity, nodeGroupAntiAffinity, nodeGroupLimits}'
    curl_api GET /v1/queues/odd | head -n -1 | jq -e "$is == $want"
    # What is not named stays, also through a change of another.
    "$BERTH" queue set odd --weight 3
    curl_api GET /v1/queues/odd | head -n -1 | jq -e "$is == $want"
    "$BERTH" queue set odd --preemption allowed --avoid-groups ''
    curl_api GET /v1/queues/odd | head -n -1 | jq -e '.preemption == "allowed" and .nodeGroupAntiAffinity == {required: ["g3"], preferred: []}'
    "$BERTH" queue list -o cols=QUEUE,PREEMPTION | grep -qE '^default +allowed'
    run "$BERTH" queue set odd --hierarchy root/eng --hierarchy-weights 1
    [ "$status" -ne 0 ]
    [[ $output == *"a whole number for each step"* ]]
    run "$BERTH" queue set odd --group-limit g1
    [ "$status" -eq 2 ]
    run curl_api PATCH /v1/queues/odd -H 'If-Match: *' -H 'Content-Type: application/json' -d '{"nodeGroupAffinity":{"requires":[]}}'
    [ "${lines[-1]}" = 422 ]
}

@test "guarantees above what there is are warned of" {
    # Nobody knows yet what there will be.
    run --separate-stderr "$BERTH" queue create early --guarantee slot=3
    [ -z "$stderr" ]
    needs_root
    start_agent --offer slot=4
    until_true 20 sh -c "'$BERTH' node list --no-header | grep -q ready"
    run --separate-stderr "$BERTH" queue set early --guarantee slot=4
    [ -z "$stderr" ]
    run --separate-stderr "$BERTH" queue create late --guarantee slot=1
    [ "$status" -eq 0 ]
    [[ $stderr == *"slot: the queues are guaranteed 5 in all, and the nodes offer 4"* ]]
    run "$BERTH" queue why default --resource slot
    [[ $output =~ guaranteed\ 5\ to\ all\ queues,\ of\ 4\ .*nothing\ is\ left ]]
    run --separate-stderr "$BERTH" queue set early --guarantee slot=3
    [ -z "$stderr" ]
    "$BERTH" queue why default --resource slot -o json | jq -e '.guaranteed == "4" and .cluster == "4" and (has("exceeded")|not)'
}

@test "what cannot be is refused where it stands" {
    "$BERTH" queue create lab --guarantee cpu=4
    run "$BERTH" queue create over --parent lab --guarantee cpu=5
    [ "$status" -ne 0 ]
    [[ $output == *"/guarantee/cpu"* ]] || [[ $output == *"above the guarantee of its parent lab, which is 4"* ]]
    run "$BERTH" queue set lab --parent lab
    [ "$status" -ne 0 ]
    run "$BERTH" queue create zero --weight 0
    [ "$status" -ne 0 ]
    [[ $output == *weight* ]]
    run curl_api POST /v1/queues -H 'Content-Type: application/json' -d '{"name":"odd","wieght":2}'
    [ "${lines[-1]}" = 422 ]
    [ "$(jq -r '.errors[0].pointer' <<<"${lines[0]}")" = /wieght ]
    [[ ${lines[0]} == *weight* ]]
    run "$BERTH" queue create odd --deserved cpu
    [ "$status" -eq 2 ]
}

@test "a queue with one job says one" {
    "$BERTH" queue create small
    "$BERTH" submit -q small --runtime process -- true
    run "$BERTH" queue delete small
    [ "$status" -ne 0 ]
    [[ $output == *"queue small has 1 job that is not over"* ]]
}

@test "csv is rows with one head" {
    run "$BERTH" queue show root default -o csv
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 3 ]
    [[ ${lines[0]} == QUEUE,STATE,* ]]
    [[ ${lines[1]} == root,open,* ]]
    [[ ${lines[2]} == default,open,* ]]
    [ "$("$BERTH" queue show root default -o cols=QUEUE --no-header)" = root$'\n'default ]
    run "$BERTH" queue why default -o csv
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == QUEUE,RESOURCE,DESERVED,*,HOLDERS ]]
    [[ ${lines[1]} == default,cpu,* ]]
    [[ $("$BERTH" queue why default --no-header -o cols=QUEUE,RESOURCE) =~ ^default\ +cpu$ ]]
}

@test "what is not there is not said to be deleted" {
    local id
    run "$BERTH" queue delete nothing
    [ "$status" -eq 3 ]
    [[ $output == *"no queue"*nothing* ]]
    run "$BERTH" node forget nothing --yes
    [ "$status" -eq 3 ]
    run "$BERTH" token delete zz
    [ "$status" -eq 3 ]
    [[ $output == *"no token with the id zz"* ]]
    # By the beginning of its id, as commits are named.
    "$BERTH" token create brief --file "$BATS_TEST_TMPDIR/brief"
    [ "$(stat -c %a "$BATS_TEST_TMPDIR/brief")" = 600 ]
    "$BERTH" ps --token-file "$BATS_TEST_TMPDIR/brief"
    id=$("$BERTH" token list -o json | jq -r '.items[] | select(.name == "brief").id')
    [ "$("$BERTH" token delete "${id:0:12}")" = "$id  deleted" ]
    run "$BERTH" ps --token-file "$BATS_TEST_TMPDIR/brief"
    [ "$status" -eq 6 ]
    # A word that several tokens begin with deletes none.
    run "$BERTH" token delete ""
    [ "$status" -eq 3 ]
}

@test "a closed queue closes what is beneath it" {
    needs_root
    start_agent --offer cpu=2
    "$BERTH" queue create lab
    "$BERTH" queue create team --parent lab
    held=$("$BERTH" submit -o id -q team --cpu 2 --runtime process -- sh -c "while [ ! -e $DATA/go ]; do sleep 0.1; done")
    until_true 20 sh -c "'$BERTH' job show '$held' -o json | jq -e '.state == \"running\"'"
    job=$("$BERTH" submit -o id -q team --cpu 1 --runtime process -- true)
    "$BERTH" queue set lab --state closed
    run "$BERTH" submit -q team --cpu 1 --runtime process -- true
    [ "$status" -eq 5 ]
    [[ $output == *"queue team is beneath lab, which is closed and takes no new jobs"* ]]
    until_true 20 sh -c "'$BERTH' job show '$job' -o json | jq -e '.reasons[0] | .code == \"QUEUE_CLOSED\" and .blocker == \"lab\"'"
    touch "$DATA/go"
    "$BERTH" wait "$held" --timeout 60s
    "$BERTH" explain "$job" | grep -q lab
    "$BERTH" job show "$job" -o json | jq -e '.state == "pending"'
    "$BERTH" queue set lab --state open
    "$BERTH" wait "$job" --timeout 60s
}

@test "who asks for nothing may take a slot from a less urgent one" {
    needs_root
    start_agent --offer pods=1
    low=$("$BERTH" submit -o id --runtime process -- sleep 600)
    until_true 20 sh -c "'$BERTH' job show '$low' -o json | jq -e '.state == \"running\"'"
    high=$("$BERTH" submit -o id --priority 10 --runtime process -- true)
    "$BERTH" wait "$high" --timeout 60s
    curl_api GET "/v1/jobs/$low/attempts" | head -n -1 | jq -e '.items[0].cause == "EVICTED"'
    "$BERTH" cancel "$low"
}

@test "explain names what keeps a queue from its share" {
    needs_root
    start_agent --offer cpu=4
    "$BERTH" queue create lab --reclaimable false
    "$BERTH" queue create team
    held=$("$BERTH" submit -o id -q lab --cpu 4 --runtime process -- sh -c "while [ ! -e $DATA/go ]; do sleep 0.1; done")
    until_true 20 sh -c "'$BERTH' job show '$held' -o json | jq -e '.state == \"running\"'"
    job=$("$BERTH" submit -o id -q team --cpu 2 --runtime process -- true)
    until_true 20 sh -c "'$BERTH' job show '$job' -o json | jq -e '.reasons[0].code == \"INSUFFICIENT_CPU\"'"
    run "$BERTH" explain "$job"
    [[ $output == *"queue lab holds 4 cpu, and gives nothing back (reclaimable: no)"* ]]
    "$BERTH" explain "$job" -o json | jq -e '.notReclaimable == {queue: "lab", resource: "cpu", allocated: "4"}'
    # Once it may be taken back, it is.
    "$BERTH" queue set lab --reclaimable yes
    "$BERTH" wait "$job" --timeout 60s
    touch "$DATA/go"
    "$BERTH" wait "$held" --timeout 60s
}
