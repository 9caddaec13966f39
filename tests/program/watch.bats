#!/usr/bin/env bats
# Lists that are watched: what is appended, and a server that comes and goes.

load helper

setup() {
    DATA=$(mktemp -d "$BATS_TEST_TMPDIR/server.XXXXXX")
    LISTEN=127.0.0.1:0
    PIDS=
}

teardown() {
    for pid in $PIDS; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}

# start_server [ARG...]: a server without agents, where every job waits.
start_server() {
    rm -f "$DATA/address"
    "$BERTH" server --data "$DATA" --listen "$LISTEN" "$@" >>"$DATA.log" 2>&1 3>&- &
    SERVER=$!
    PIDS="$SERVER $PIDS"
    until_true 20 test -s "$DATA/address"
    BERTH_ADDR=$(cat "$DATA/address")
    LISTEN=${BERTH_ADDR#http://}
    export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
    until_true 20 "$BERTH" node list --no-header
}

# watch [FLAG...]: `berth ps -w`, its output in $SEEN.
watch() {
    SEEN=$BATS_TEST_TMPDIR/seen
    "$BERTH" ps -w -o template='{id} {state}' "$@" >"$SEEN" 2>"$SEEN.err" 3>&- &
    WATCH=$!
    PIDS="$WATCH $PIDS"
}

submit() { "$BERTH" submit -o id --runtime process -- true; }

draws() { grep -c '^.*ID .*STATE' "$drawn"; }
drawn_beyond() { [ "$(draws)" -gt "$1" ]; }

@test "a job that others push off the list did not leave it" {
    start_server
    a=$(submit)
    watch --limit 1
    until_true 20 grep -qx "$a pending" "$SEEN"
    b=$(submit)
    until_true 20 grep -qx "$b pending" "$SEEN"
    "$BERTH" cancel "$b"
    until_true 20 grep -qx "$b cancelled" "$SEEN"
    [ "$(cat "$SEEN")" = "$a pending
$b pending
$a pending
$b cancelled" ]
}

@test "a listed job that is deleted at last ends no watch" {
    echo 'retain: 1s' >"$BATS_TEST_TMPDIR/server.yaml"
    start_server --config "$BATS_TEST_TMPDIR/server.yaml"
    a=$(submit)
    watch -a
    until_true 20 grep -qx "$a pending" "$SEEN"
    "$BERTH" cancel "$a"
    until_true 20 grep -qx "$a cancelled" "$SEEN"
    b=$(submit) # who is last is kept
    until_true 20 grep -qx "$b pending" "$SEEN"
    until_true 20 sh -c "! '$BERTH' job show $a"
    b=$(submit)
    until_true 20 grep -qx "$b pending" "$SEEN"
    kill -0 "$WATCH"
    [ ! -s "$SEEN.err" ]
}

@test "a watch goes on when the server is back, however long it was away" {
    start_server
    a=$(submit)
    watch --give-up 3s
    # On a terminal the whole list is drawn, and again as the ages go on.
    drawn=$BATS_TEST_TMPDIR/drawn
    script -qefc "$BERTH ps -w --give-up 3s" "$drawn" </dev/null >/dev/null 2>&1 3>&- &
    PIDS="$! $PIDS"
    until_true 20 grep -qx "$a pending" "$SEEN"
    until_true 20 grep -q "^$a " "$drawn"
    kill -KILL "$SERVER"
    wait "$SERVER" 2>/dev/null || true
    n=$(draws)
    until_true 30 drawn_beyond $((n + 2)) # two seconds each: longer than it would wait for a call
    start_server
    b=$(submit)
    until_true 20 grep -qx "$b pending" "$SEEN"
    until_true 20 grep -q "^$b " "$drawn"
    kill -0 "$WATCH"
    [ "$(cat "$SEEN")" = "$a pending
$b pending" ]
}

@test "a list of several pages is one, and says whether there is more" {
    start_server
    batch=$(jq -nc '{jobs: [range(500) | {name: "b", runtime: "process", command: ["true"]}]}')
    for _ in 1 2 3; do
        [ "$(curl_api POST /v1/jobs:batch -H 'Content-Type: application/json' -d "$batch" | tail -1)" = 200 ]
    done
    run --separate-stderr "$BERTH" ps --limit 1500 --quiet
    [ "${#lines[@]}" = 1500 ]
    [ "$(printf '%s\n' "${lines[@]}" | sort -u | wc -l)" = 1500 ]
    run --separate-stderr "$BERTH" ps --limit 1500
    [ "${#lines[@]}" = 1501 ]
    [ -z "$stderr" ]
    run --separate-stderr "$BERTH" ps --limit 1499
    [ "${#lines[@]}" = 1500 ]
    [ "$stderr" = "more than 1499 jobs; see --limit" ]
    "$BERTH" ps --limit 1499 -o json | jq -e '.next and (.items | length) == 1499'
    # Sorted by what only the table has, it has no cursor, and says so by none.
    run --separate-stderr "$BERTH" ps --limit 1499 --sort INFO
    [ "${#lines[@]}" = 1500 ]
    [ "$stderr" = "more than 1499 jobs; see --limit" ]
    "$BERTH" ps --limit 1499 --sort INFO -o json | jq -e '(has("next") | not) and (.items | length) == 1499'
    "$BERTH" queue create other >/dev/null
    run --separate-stderr "$BERTH" queue list --limit 1
    [ "$stderr" = "more than 1 queues; see --limit" ]
    "$BERTH" ps --limit 1501 -o json | jq -e '(has("next") | not) and (.items | length) == 1500'
}
