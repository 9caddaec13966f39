#!/usr/bin/env bats
# What a job may want of its node: the node, its size, what it can do, and the company there.

load helper

setup_file() {
    export DATA=$BATS_FILE_TMPDIR/server
    mkdir -p "$DATA"
    "$BERTH" server --data "$DATA" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
    PIDS=$!
    until_true 20 test -s "$DATA/address"
    BERTH_ADDR=$(cat "$DATA/address")
    export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
    until_true 20 "$BERTH" node list --no-header
    start_agent small --offer cpu=2 --label zone=a --label capability/image=2.0
    start_agent large --offer cpu=8 --label zone=b --label capability/image=2.1
    export PIDS
    until_true 20 "$BERTH" node show small large
}

teardown_file() {
    for pid in $PIDS; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}

setup() {
    needs_root
}

start_agent() {
    local name=$1
    shift
    "$BERTH" agent --server "$BERTH_ADDR" --token-file "$DATA/agent-token" --data "$BATS_FILE_TMPDIR/$name" \
        --name "$name" --runtime process "$@" >>"$BATS_FILE_TMPDIR/$name.log" 2>&1 3>&- &
    PIDS="$! $PIDS"
}

# place ARG..., place_file FILE: submits a job, waits for its end, says where it ran.
place() {
    ran "$("$BERTH" submit -o id --cpu 100m --runtime process "$@" -- true)"
}

place_file() {
    ran "$("$BERTH" submit -o id "$1")"
}

# ran JOB: waits for its end, says where it ran.
ran() {
    local job=$1
    "$BERTH" wait "$job" --timeout 60s >&2
    curl_api GET "/v1/jobs/$job/attempts" | head -n -1 | jq -r '.items[0].node'
}

# why JOB: the code that it waits for.
why() { "$BERTH" job show "$1" -o json | jq -r '.reasons[0].code'; }
is() { [ "$("${@:2}")" = "$1" ]; }

@test "a job runs on the node that it names, whichever is better" {
    is small place --node small
    is large place --node large
    job=$("$BERTH" submit -o id --cpu 100m --runtime process --node nowhere -- true)
    until_true 20 is NODE_PINNED why "$job"
    "$BERTH" cancel "$job"
}

@test "a job runs where there is as much as it requires, though it asks for less" {
    is large place --requires cpu=8
    job=$("$BERTH" submit -o id --cpu 100m --runtime process --requires cpu=9 -- true)
    until_true 20 is NODE_TOO_SMALL why "$job"
    "$BERTH" cancel "$job"
}

@test "a capability must be the same to the letter" {
    is small place --capability image@2.0
    is large place --capability image@2.1
    job=$("$BERTH" submit -o id --cpu 100m --runtime process --capability image@2 -- true)
    until_true 20 is VERSION_MISSING why "$job"
    "$BERTH" cancel "$job"
}

@test "affinities as of a pod keep jobs apart and together, and what will not do is named" {
    cat >"$BATS_TEST_TMPDIR/away.yaml" <<END
name: away
runtime: process
command: [sh, -c, "while [ ! -e $BATS_TEST_TMPDIR/go ]; do sleep 0.1; done"]
resources: {cpu: 100m}
labels: {app: db}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [b]}]}]
END
    away=$("$BERTH" submit -o id "$BATS_TEST_TMPDIR/away.yaml")
    until_true 20 sh -c "'$BERTH' job show '$away' -o json | jq -e '.nodes == [\"large\"]'"
    sed 's/nodeAffinity:/podAntiAffinity:/; s/nodeSelectorTerms:.*/- {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}/; s/^command.*/command: ["true"]/' \
        "$BATS_TEST_TMPDIR/away.yaml" >"$BATS_TEST_TMPDIR/apart.yaml"
    is small place_file "$BATS_TEST_TMPDIR/apart.yaml"
    sed 's/podAntiAffinity:/podAffinity:/' "$BATS_TEST_TMPDIR/apart.yaml" >"$BATS_TEST_TMPDIR/beside.yaml"
    is large place_file "$BATS_TEST_TMPDIR/beside.yaml"
    sed 's/topologyKey/topologyKeys/' "$BATS_TEST_TMPDIR/beside.yaml" >"$BATS_TEST_TMPDIR/wrong.yaml"
    run "$BERTH" submit "$BATS_TEST_TMPDIR/wrong.yaml"
    [ "$status" -eq 2 ]
    [[ $output == *"/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/topologyKeys"* ]]
    touch "$BATS_TEST_TMPDIR/go"
    "$BERTH" wait "$away" --timeout 60s
}

@test "preferred labels choose among the nodes that will do, and hold nobody back" {
    for zone in a b nowhere; do
        printf 'command: ["true"]\nruntime: process\nresources: {cpu: 100m}\npreferredLabels: {zone: %s}\n' \
            "$zone" >"$BATS_TEST_TMPDIR/$zone.yaml"
    done
    [ "$(place_file "$BATS_TEST_TMPDIR/a.yaml")" = small ]
    [ "$(place_file "$BATS_TEST_TMPDIR/b.yaml")" = large ]
    [ -n "$(place_file "$BATS_TEST_TMPDIR/nowhere.yaml")" ]
}
