#!/usr/bin/env bats
# The server's configuration: which profile decides, from where, and machines that are ordered.

load helper

setup() {
    DATA=$BATS_TEST_TMPDIR/server
    ETC=$BATS_TEST_TMPDIR/etc
    mkdir -p "$DATA" "$ETC"
}

teardown() {
    for pid in ${PIDS:-}; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}

# start_server [ARG...]: a server whose machine has the configuration files of $ETC.
start_server() {
    BERTH_ETC=$ETC "$BERTH" server --data "$DATA" --listen 127.0.0.1:0 "$@" >>"$DATA.log" 2>&1 3>&- &
    PIDS=$!
    until_true 20 test -s "$DATA/address" || { cat "$DATA.log" >&2; return 1; }
    BERTH_ADDR=$(cat "$DATA/address")
    export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
    until_true 20 "$BERTH" node list --no-header
}

# start_agent NAME [ARG...]
start_agent() {
    local name=$1
    shift
    "$BERTH" agent --server "$BERTH_ADDR" --token-file "$DATA/agent-token" --data "$BATS_TEST_TMPDIR/$name" \
        --name "$name" --runtime process "$@" >>"$BATS_TEST_TMPDIR/$name.log" 2>&1 3>&- &
    PIDS="$! $PIDS"
}

profile() { "$BERTH" version --server -o json | jq -r .profile; }
state() { "$BERTH" job show "$1" -o json | jq -r .state; }
orders() { "$BERTH" order list -o json | jq -c '[.items[] | select(.state == "'"$1"'")] | length'; }
is() { [ "$("${@:2}")" = "$1" ]; }

# runs_under PROFILE: a server that /etc/berth gives the profile starts a gang and a single job, ends both, and
# says which it is.
runs_under() {
    local gang one
    needs_root
    echo "scheduler: {profile: $1}" >"$ETC/server.yaml"
    start_server
    [ "$(profile)" = "$1" ]
    grep -q "profile=$1 config=$ETC/server.yaml" "$DATA.log"
    start_agent n1 --offer cpu=4
    gang=$("$BERTH" submit -o id --tasks 3 --gang --cpu 1 --runtime process -- true)
    one=$("$BERTH" submit -o id --cpu 4 --runtime process -- true)
    "$BERTH" wait "$gang" "$one" --timeout 60s
}

@test "profile berth decides" { runs_under berth; }
@test "profile volcano decides" { runs_under volcano; }
@test "profile bench decides" { runs_under bench; }
@test "profile ledger decides" { runs_under ledger; }
@test "profile beam decides" { runs_under beam; }

@test "a profile of one's own, named in /etc/berth, decides" {
    needs_root
    echo 'scheduler: {profile: ./mine.yaml}' >"$ETC/server.yaml"
    # What only this profile does: the fuller of two nodes.
    cat >"$ETC/mine.yaml" <<END
profile: berth
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: binpack}]
END
    start_server
    is ./mine.yaml profile
    start_agent n1 --offer cpu=8
    start_agent n2 --offer cpu=2
    until_true 20 is 2 sh -c "'$BERTH' node list -o id | wc -l"
    job=$("$BERTH" submit -o id --cpu 1 --runtime process -- true)
    "$BERTH" wait "$job" --timeout 60s
    [ "$("$BERTH" job show "$job" -o json | jq -r .id)" = "$job" ]
    curl_api GET "/v1/jobs/$job/attempts" | head -n -1 | jq -e '.items[0].node == "n2"'
}

@test "a file named goes before the machine's, and what will not do is named with its line" {
    echo 'scheduler: {profile: beam}' >"$ETC/server.yaml"
    echo 'scheduler: {profile: ledger}' >"$BATS_TEST_TMPDIR/other.yaml"
    start_server --config "$BATS_TEST_TMPDIR/other.yaml"
    is ledger profile
    printf 'scheduler:\n  profile: breth\n' >"$ETC/server.yaml"
    BERTH_ETC=$ETC run "$BERTH" server --data "$BATS_TEST_TMPDIR/none" --listen 127.0.0.1:0
    [ "$status" -eq 2 ]
    [[ $output == *"$ETC/server.yaml:2:3: /scheduler/profile"*"did you mean berth"* ]]
}

@test "the machine's file says what its agent offers" {
    needs_root
    printf 'offers: {licence: 3}\nlabels: {rack: r7}\n' >"$ETC/agent.yaml"
    start_server
    export BERTH_ETC=$ETC
    start_agent n1
    until_true 20 "$BERTH" node show n1
    "$BERTH" node show n1 -o json | jq -e '.offers.licence == "3" and .labels.rack == "r7"'
}

pools='
pools:
- {name: spot, provisions: true, machine: {cpu: "2", memory: 1Gi}, maxMachines: 3, backoffSeconds: 3600}
'

@test "profile beam orders a machine, tasks ride on it, and who brings it gives it its name" {
    needs_root
    echo "scheduler: {profile: beam}$pools" >"$ETC/server.yaml"
    start_server
    first=$("$BERTH" submit -o id --cpu 1 --memory 100Mi --runtime process -- true)
    until_true 20 is 1 orders wanted
    second=$("$BERTH" submit -o id --cpu 1 --memory 100Mi --runtime process -- true)
    until_true 20 sh -c "'$BERTH' job show '$second' -o json | jq -e '.reasons[0].code == \"WAITING_FOR_MACHINE\"'"
    is 1 orders wanted
    order=$("$BERTH" order list -o id)
    "$BERTH" order show "$order" -o json | jq -e --arg job "$first" '.pool == "spot" and .shape.cpu == "2" and .job == $job'
    "$BERTH" node show "$order" -o json | jq -e '.state == "coming"'
    "$BERTH" order place "$order" --provider i-0abc
    start_agent "$order" --offer cpu=2
    "$BERTH" wait "$first" "$second" --timeout 60s
    "$BERTH" order show "$order" -o json | jq -e '.state == "came" and .provider == "i-0abc"'
    "$BERTH" job show "$first" -o json | jq -e '.reservations[0].purpose == "machine" and .reservations[0].state == "used"'
}

@test "a gang is given several machines and starts when all of them are there" {
    needs_root
    echo "scheduler: {profile: beam}$pools" >"$ETC/server.yaml"
    start_server
    gang=$("$BERTH" submit -o id --tasks 3 --gang --cpu 2 --memory 100Mi --runtime process -- true)
    until_true 20 is 3 orders wanted
    for order in $("$BERTH" order list -o id); do
        is pending state "$gang"
        start_agent "$order" --offer cpu=2
        until_true 20 sh -c "'$BERTH' order show '$order' -o json | jq -e '.state == \"came\"'"
    done
    "$BERTH" wait "$gang" --timeout 60s
    is 3 orders came
}

@test "an order that fails lets its room go, and its pool orders nothing for a while" {
    echo "scheduler: {profile: beam}$pools" >"$ETC/server.yaml"
    start_server
    job=$("$BERTH" submit -o id --cpu 1 --memory 100Mi --runtime process -- true)
    until_true 20 is 1 orders wanted
    "$BERTH" order fail "$("$BERTH" order list -o id)" --reason 'no capacity'
    until_true 20 sh -c "'$BERTH' job show '$job' -o json | jq -e '.reservations[0].why == \"NOT_CAME\"'"
    until_true 20 sh -c "'$BERTH' job show '$job' -o json | jq -e '.reasons[0].code == \"RETRY_BACKOFF\"'"
    is 0 orders wanted
    run "$BERTH" order place "$("$BERTH" order list -o id)"
    [ "$status" -eq 5 ]
    [[ $output == *"is failed and cannot become placed"* ]]
}

@test "what nobody brings in time has failed" {
    echo "scheduler: {profile: berth}${pools}orderTimeout: 1s" >"$ETC/server.yaml"
    start_server
    job=$("$BERTH" submit -o id --cpu 1 --memory 100Mi --runtime process -- true)
    until_true 20 sh -c "'$BERTH' order list -o json |
        jq -e 'any(.items[]; .state == \"failed\" and .reason == \"nobody brought it in time\")'"
    until_true 20 sh -c "'$BERTH' job show '$job' -o json | jq -e '.reasons[0] | .code == \"PROVISION_FAILED\" and .blocker == \"spot\" and .until'"
    "$BERTH" explain "$job" | grep 'PROVISION_FAILED: .* spot  until '
}

@test "a job is kept together under a network domain of the configuration" {
    needs_root
    cat >"$ETC/server.yaml" <<END
hyperNodes:
- {name: r1, tier: 1, tierName: rack, nodes: [n1, n2]}
- {name: r2, tier: 1, tierName: rack, nodes: [n3, n4]}
END
    start_server
    for node in n1 n2 n3 n4; do
        start_agent "$node" --offer cpu=2
    done
    until_true 30 is 4 sh -c "'$BERTH' node list -o id | wc -l"
    # One core of n1 is held, so four tasks of one core each have room in the second rack alone.
    held=$("$BERTH" submit -o id --node n1 --cpu 1 --runtime process -- sh -c "while [ ! -e $ETC/go ]; do sleep 0.1; done")
    until_true 20 is running state "$held"
    cat >"$ETC/job.yaml" <<END
name: together
runtime: process
command: [sh, -c, "while [ ! -e $ETC/go ]; do sleep 0.1; done"]
replicas: 4
gang: true
resources: {cpu: 1}
topology: {mode: hard, tier: rack}
END
    job=$("$BERTH" submit -o id "$ETC/job.yaml")
    until_true 20 is running state "$job"
    "$BERTH" job show "$job" -o json | jq -e '.nodes == ["n3", "n4"]'
    large=$(sed 's/replicas: 4/replicas: 5/' "$ETC/job.yaml" | "$BERTH" submit -o id -)
    sed 's/tier: rack/tier: racks/' "$ETC/job.yaml" >"$ETC/wrong.yaml"
    run "$BERTH" submit "$ETC/wrong.yaml"
    [ "$status" -eq 2 ]
    [[ $output == *"/topology/tier"*"racks"* ]]
    touch "$ETC/go"
    "$BERTH" wait "$held" "$job" --timeout 60s
    # All is free now, and no rack holds five.
    until_true 20 sh -c "'$BERTH' job show '$large' -o json | jq -e '.state == \"pending\" and .reasons != null'"
}

@test "an urgent job has room made for it under one network domain" {
    needs_root
    cat >"$ETC/server.yaml" <<END
hyperNodes:
- {name: r1, tier: 1, tierName: rack, nodes: [n1]}
- {name: r2, tier: 1, tierName: rack, nodes: [n2]}
END
    start_server
    start_agent n1 --offer cpu=2
    start_agent n2 --offer cpu=2
    until_true 30 is 2 sh -c "'$BERTH' node list -o id | wc -l"
    # Both racks are full.
    large=$(stays --cpu 2 --priority 1 --grace 1s)
    small=$(stays --cpu 2 --grace 1s)
    until_true 20 is running state "$large"
    until_true 20 is running state "$small"
    urgent=$(stays --tasks 2 --gang --cpu 1 --priority 50 --topology hard:rack)
    until_true 30 is running state "$urgent"
    [ "$("$BERTH" job show "$urgent" -o json | jq '.nodes | length')" -eq 1 ]
    # The less urgent of the two was evicted, and the other was left alone.
    until_true 20 is pending state "$small"
    is running state "$large"
    touch "$ETC/go"
    "$BERTH" wait "$urgent" "$large" "$small" --timeout 60s
}

# A job that runs until $ETC/go is there.
stays() { "$BERTH" submit -o id --runtime process "$@" -- sh -c "while [ ! -e $ETC/go ]; do sleep 0.1; done"; }
waits_for() { "$BERTH" job show "$1" -o json | jq -e --arg code "$2" '.state == "pending" and .reasons[0].code == $code'; }

quota='
resourceQuotas:
- {name: lab, namespace: lab, hard: {cpu: 2}}
'

@test "a namespace gets no more than its quota, and who waits for it is told so" {
    needs_root
    echo "$quota" >"$ETC/server.yaml"
    start_server
    start_agent n1 --offer cpu=8
    first=$(stays -n lab --tasks 3 --cpu 1)
    until_true 20 is running state "$first"
    second=$(stays -n lab --cpu 500m)
    other=$(stays --cpu 4)
    until_true 20 is running state "$other"
    until_true 20 waits_for "$second" OVER_CAP
    "$BERTH" job show "$second" -o json |
        jq -e '.reasons[0] | .resource == "cpu" and .limit == "2" and .blocker == "lab"'
    # Of the three tasks two run, and the node has room for more.
    "$BERTH" job show "$first" -o json | jq -e '[.tasks.running, .tasks.pending] == [2, 1]'
    run "$BERTH" explain "$second"
    [[ $output == *OVER_CAP*lab* ]]
    touch "$ETC/go"
    "$BERTH" wait "$first" "$second" "$other" --timeout 60s
}

@test "a server that comes back with other quotas ends nothing, and binds by them" {
    needs_root
    local agents over second third bio
    cat >"$ETC/server.yaml" <<END
resourceQuotas:
- {name: lab, namespace: lab, hard: {cpu: 2}}
- {name: few, namespace: bio, hard: {pods: 2}}
END
    start_server
    [ "$(timeout 20 "$BERTH" event watch --from 1 --type 'quota.*' --limit 2 -o template='{type} {subject} {object.hard}')" = \
        "$(printf '%s\n' 'quota.created lab/lab {"cpu":"2"}' 'quota.created bio/few {"pods":"2"}')" ]
    start_agent n1 --offer cpu=8
    lab=$(stays -n lab --tasks 3 --cpu 1)
    bio=$(stays -n bio --tasks 3)
    for job in "$lab" "$bio"; do
        until_true 20 sh -c "'$BERTH' job show '$job' -o json | jq -e '[.tasks.running, .tasks.pending] == [2, 1]'"
    done
    until_true 20 sh -c "'$BERTH' explain '$bio' | grep -q 'OVER_CAP.*few'"
    kill -TERM "${PIDS##* }"
    wait "${PIDS##* }"
    agents=${PIDS% *}
    cat >"$ETC/server.yaml" <<END
resourceQuotas:
- {name: lab, namespace: lab, hard: {cpu: 1500m}}
END
    start_server --listen "${BERTH_ADDR#http://}"
    PIDS="$agents $PIDS"
    # What ran runs on; nobody bounds bio any more.
    until_true 20 sh -c "'$BERTH' job show '$bio' -o json | jq -e '.tasks.running == 3'"
    "$BERTH" job show "$lab" -o json | jq -e '[.tasks.running, .tasks.pending] == [2, 1]'
    second=$(stays -n lab --cpu 500m)
    until_true 20 waits_for "$second" OVER_CAP
    "$BERTH" job show "$second" -o json | jq -e '.reasons[0] | .limit == "1500m" and .blocker == "lab"'
    third=$("$BERTH" submit -o id -n lab --runtime process -- true) # asks for no cpu
    "$BERTH" wait "$third" --timeout 60s
    touch "$ETC/go"
    "$BERTH" wait "$lab" "$second" "$bio" --timeout 60s
    # The engine decided nothing that the ledger would not have.
    curl -sf "$BERTH_ADDR/metrics" | grep -x 'berth_decisions_refused_total 0'
    "$BUILD/tests/ledger-check" "$DATA/ledger.db"
}

@test "serverless, who would be over the quota is refused, and room that comes back is given again" {
    needs_root
    echo "scheduler: {profile: beam}$quota" >"$ETC/server.yaml"
    start_server
    start_agent n1 --offer cpu=8
    first=$(stays -n lab --cpu 2)
    until_true 20 is running state "$first"
    over=$(stays -n lab --cpu 1)
    run "$BERTH" wait "$over" --timeout 60s
    [ "$status" -eq 1 ]
    "$BERTH" job show "$over" -o json | jq -e '.state == "failed" and .reason == "OVER_CAP: cpu"'
    other=$(stays --cpu 1)
    until_true 20 is running state "$other"
    touch "$ETC/go"
    "$BERTH" wait "$first" "$other" --timeout 60s
    again=$(stays -n lab --cpu 2)
    "$BERTH" wait "$again" --timeout 60s
}

@test "of a job no more is evicted than its budget lets go" {
    needs_root
    start_server
    start_agent n1 --offer cpu=3
    cat >"$ETC/job.yaml" <<END
runtime: process
command: [sh, -c, "while [ ! -e $ETC/go ]; do sleep 0.1; done"]
replicas: 3
resources: {cpu: 1}
budget: {maxUnavailable: 1}
END
    low=$("$BERTH" submit -o id "$ETC/job.yaml")
    until_true 20 sh -c "'$BERTH' job show '$low' -o json | jq -e '.tasks.running == 3'"
    # One of three may go, and two may not.
    large=$(stays --cpu 2 --priority 100)
    until_true 20 waits_for "$large" INSUFFICIENT_CPU
    small=$(stays --cpu 1 --priority 100)
    until_true 20 is running state "$small"
    next=$(stays --cpu 1 --priority 100)
    until_true 20 waits_for "$next" INSUFFICIENT_CPU
    "$BERTH" job show "$low" -o json | jq -e '.tasks.running == 2'
    touch "$ETC/go"
    "$BERTH" wait "$low" "$large" "$small" "$next" --timeout 60s
}

@test "a fault of an affinity is told with the line of the file" {
    start_server
    cat >"$ETC/job.yaml" <<END
runtime: process
command: ["true"]
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: disk, operator: In}
END
    for verb in submit plan; do
        run "$BERTH" "$verb" "$ETC/job.yaml"
        [ "$status" -eq 2 ]
        [[ $output == "$ETC/job.yaml:8:11: /affinity/nodeAffinity/"*"needs values"* ]]
    done
    # On stdin as JSON, within a group.
    run sh -c "printf '{\"groups\": [\n{\"runtime\": \"process\", \"command\": [\"true\"], \"affinity\":\n{\"podAffinity\": [1]}}]}' | '$BERTH' submit -"
    [ "$status" -eq 2 ]
    [[ $output == "stdin:3:"*"/groups/0/affinity/podAffinity"* ]]
}

@test "who finds no room on a machine that is on its way is told of the machine" {
    echo 'pools: [{name: spot, provisions: true, machine: {cpu: 2}, maxMachines: 1}]' >"$ETC/server.yaml"
    start_server
    "$BERTH" submit -o id --quiet --cpu 1 --runtime process -- true
    until_true 20 is 1 orders wanted
    job=$("$BERTH" submit -o id --quiet --cpu 2 --runtime process -- true)
    until_true 20 waits_for "$job" NODE_NOT_READY
    run "$BERTH" explain "$job"
    [[ $output == *"NODE_NOT_READY: spot-"*" is coming"*"on its way: see berth order list"* ]]
    gang=$("$BERTH" submit -o id --quiet --cpu 2 --tasks 2 --gang --runtime process -- true)
    until_true 20 waits_for "$gang" LARGER_THAN_CLUSTER
    run "$BERTH" explain "$gang"
    [[ $output == *"LARGER_THAN_CLUSTER: All nodes together would not hold the gang, were they empty."* ]]
}

# By what they ask two would fit: 100 of 120 Mi.
@test "serverless, a task holds a quarter more memory than it asks, and may use it" {
    needs_root
    local first second third
    echo 'scheduler: {profile: beam}' >"$ETC/server.yaml"
    start_server
    start_agent n1 --offer cpu=4 --offer memory=120Mi
    first=$("$BERTH" submit -o id --memory 50Mi --runtime process -- sh -c \
        'cat "/sys/fs/cgroup/memory$(sed -n "s/.*:memory://p" /proc/self/cgroup)/memory.limit_in_bytes" ||
         cat "/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)/memory.max"; sleep 60')
    until_true 30 is running state "$first"
    second=$("$BERTH" submit -o id --memory 50Mi --runtime process -- true)
    until_true 30 eval '"$BERTH" explain "$second" | grep -q "memory asked 63Mi (50Mi x 1.25), free 57Mi"'
    "$BERTH" explain "$second" | grep -q "n1  memory needs 63Mi (50Mi x 1.25), free 57Mi"
    "$BERTH" explain "$second" --node n1 | grep -q "memory  *63Mi (50Mi x 1.25)"
    "$BERTH" job show "$second" | grep -q "memory asked 63Mi (50Mi x 1.25), free 57Mi"
    "$BERTH" job list -o wide | grep -q "memory asked 63Mi (50Mi x 1.25), free 57Mi"
    run "$BERTH" plan --memory 60Mi --runtime process -- true
    [[ $output == *"memory asked 75Mi (60Mi x 1.25), free 57Mi"* ]]
    run "$BERTH" submit --need-feasible --memory 100Mi --runtime process -- true
    [[ $output == *"asks memory 125Mi (100Mi x 1.25), at most 120Mi"* ]]
    [ "$("$BERTH" explain "$second" -o json | jq -r '.changes[] | select(.pointer == "/groups/0/resources/memory") | .from, .to' |
        paste -sd' ')" = "50Mi 45Mi" ]
    [ "$("$BERTH" logs "$first")" = $((63 << 20)) ]
    [ "$("$BERTH" job show "$first" -o json | jq -c '[.memoryHeadroom, .resources.memory, .spec.groups[0].resources.memory]')" = \
        '[1.25,"50Mi","50Mi"]' ]
    # What is shown can be submitted, by whoever knows nothing of headroom.
    "$BERTH" job show "$first" -o json | jq .spec >"$BATS_TEST_TMPDIR/again.json"
    "$BERTH" plan "$BATS_TEST_TMPDIR/again.json" || [ $? = 4 ]
    # It is fixed when a job is accepted: under another profile those that are there hold what they held.
    kill -TERM "${PIDS##* }"
    wait "${PIDS##* }"
    local agents=${PIDS% *}
    echo 'scheduler: {profile: berth}' >"$ETC/server.yaml"
    start_server --listen "${BERTH_ADDR#http://}"
    PIDS="$agents $PIDS"
    third=$("$BERTH" submit -o id --memory 50Mi --runtime process -- true)
    "$BERTH" wait "$third" --timeout 60s
    [ "$("$BERTH" job show "$third" -o json | jq -r .memoryHeadroom)" = null ]
    [ "$(state "$second")" = pending ]
    "$BERTH" cancel "$first"
    "$BERTH" wait "$second" --timeout 60s
}
