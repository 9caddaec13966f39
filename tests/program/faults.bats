#!/usr/bin/env bats
# What must hold when things die: kill -9, two servers, full disks, moved folders, lost agents.

load helper

setup() {
    needs_root
    DATA=$(mktemp -d "$BATS_TEST_TMPDIR/data.XXXXXX")
}

teardown() {
    stop_dev
    if mountpoint -q "$DATA"; then umount -l "$DATA"; fi
}

@test "containers live through kill -9 of server and agent, and are adopted" {
    start_dev
    a=$("$BERTH" submit -o id --image "$(rootdir)" -- sh -c 'echo before; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo after; exit 4')
    b=$("$BERTH" submit -o id --runtime process -- sh -c "echo \$\$ >$BATS_TEST_TMPDIR/b; while [ ! -e $BATS_TEST_TMPDIR/go ]; do sleep 0.1; done; exit 6")
    until_true 20 sh -c "'$BERTH' logs $a | grep -q before"
    until_true 20 job_is "$b" running
    kill_dev
    # It ends while nobody watches but its monitor.
    touch "$BATS_TEST_TMPDIR/go"
    until_true 20 sh -c "! kill -0 $(cat "$BATS_TEST_TMPDIR/b") 2>/dev/null"
    start_dev
    run "$BERTH" wait "$b" --timeout 60s
    [ "$status" -eq 6 ]
    job_is "$a" running
    pid=$(pgrep -f 'echo before; while' | tail -1)
    touch "/proc/$pid/root/tmp/go"
    run "$BERTH" wait "$a" --timeout 60s
    [ "$status" -eq 4 ]
    "$BERTH" logs "$a" | grep -q after
}

@test "a time limit holds through kill -9 of server and agent" {
    start_dev
    job=$("$BERTH" submit -o id --time 4s --grace 1s --retries 0 --image "$(rootdir)" -- sh -c 'while :; do sleep 0.1; done')
    until_true 20 job_is "$job" running
    began=$SECONDS
    kill_dev
    start_dev
    until_true 30 job_is "$job" failed
    echo "$((SECONDS - began)) s"
    [ "$(curl_api GET "/v1/jobs/$job/attempts" | head -n -1 | jq -r '[.items[].cause] | join(" ")')" = LIMIT_REACHED ]
}

@test "run and logs --follow go on through a server that is killed and comes back" {
    LISTEN=127.0.0.1:$((20000 + RANDOM % 10000)) start_dev
    listen=${BERTH_ADDR#http://}
    "$BERTH" run --quiet --runtime process -- sh -c 'for i in $(seq 1 40); do echo line $i; sleep 0.1; done; exit 3' \
        >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
    pid=$!
    until_true 20 grep -q 'line 2' "$BATS_TEST_TMPDIR/out"
    "$BERTH" logs last --follow >"$BATS_TEST_TMPDIR/followed" 2>"$BATS_TEST_TMPDIR/followed.err" 3>&- &
    follower=$!
    until_true 20 grep -q 'line 5' "$BATS_TEST_TMPDIR/out"
    until_true 20 grep -q 'line 5' "$BATS_TEST_TMPDIR/followed"
    kill_dev
    LISTEN=$listen start_dev
    status=0
    wait "$pid" || status=$?
    cat "$BATS_TEST_TMPDIR/err"
    [ "$status" -eq 3 ]
    diff <(seq -f 'line %g' 1 40) "$BATS_TEST_TMPDIR/out"
    status=0
    wait "$follower" || status=$?
    cat "$BATS_TEST_TMPDIR/followed.err"
    [ "$status" -eq 0 ]
    diff <(seq -f 'line %g' 1 40) "$BATS_TEST_TMPDIR/followed"
}

@test "killed at each point, nothing acknowledged is lost and nothing runs twice" {
    for point in before-lock after-catch-up before-commit after-commit \
        cycle-before-send cycle-after-send before-ack before-report after-report \
        after-store after-ack before-start after-start after-running after-exit-before-clean after-exit-before-report; do
        rm -f "$DATA.ran"
        BERTH_TEST_KILL_AT='' start_dev
        stop_dev
        "$BERTH" version >/dev/null
        BERTH_TEST_KILL_AT=$point "$BERTH" dev --data "$DATA" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
        victim=$!
        for _ in $(seq 100); do
            [ -s "$DATA/address" ] && break
            kill -0 "$victim" 2>/dev/null || break
            sleep 0.05
        done
        BERTH_ADDR=$(cat "$DATA/address" 2>/dev/null || echo http://127.0.0.1:1)
        export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
        timeout 10 "$BERTH" submit -o id --key "$point" --runtime process -- sh -c "echo \$BERTH_ATTEMPT >>$DATA.ran; exit 7" || true
        for _ in $(seq 200); do
            kill -0 "$victim" 2>/dev/null || break
            sleep 0.05
        done
        status=0
        if kill -0 "$victim" 2>/dev/null; then
            echo "$point was not met"
            kill -KILL "$victim"
            return 1
        fi
        wait "$victim" || status=$?
        [ "$status" -eq 137 ]
        start_dev
        id=$("$BERTH" submit -o id --key "$point" --runtime process -- sh -c "echo \$BERTH_ATTEMPT >>$DATA.ran; exit 7")
        run "$BERTH" wait "$id" --timeout 60s
        echo "$point: exit $status, ran $(cat "$DATA.ran")"
        [ "$status" -eq 7 ]
        [ "$(wc -l <"$DATA.ran")" = 1 ]
        stop_dev
    done
}

@test "killed at random, all jobs end and each task ran once" {
    : >"$DATA.ran"
    for round in 1 2 3 4; do
        start_dev
        for i in $(seq 10); do
            "$BERTH" submit -o id --key "r$round-$i" --runtime process -- sh -c "sleep 0.2; echo r$round-$i >>$DATA.ran" >/dev/null || true
        done
        sleep "0.$((RANDOM % 9))"
        kill_dev
    done
    start_dev
    until_true 60 sh -c "[ \"\$('$BERTH' ps -o id | wc -l)\" = 0 ]"
    "$BERTH" ps -a -o json --limit 1000 | jq -r '.items[].state' | sort | uniq -c
    [ "$("$BERTH" ps -a -o json --limit 1000 | jq '[.items[] | select(.state=="succeeded")] | length')" = 40 ]
    [ "$(sort "$DATA.ran" | uniq -d | wc -l)" = 0 ]
    [ "$(wc -l <"$DATA.ran")" = 40 ]
}

@test "a busy port and a second server on one folder are refused and say so" {
    start_dev
    run timeout 10 "$BERTH" dev --data "$BATS_TEST_TMPDIR/other" --listen "${BERTH_ADDR#http://}"
    [ "$status" -ne 0 ]
    [[ $output == *"${BERTH_ADDR##*:}"* ]]
    run timeout 10 "$BERTH" dev --data "$DATA" --listen 127.0.0.1:0
    [ "$status" -ne 0 ]
    [[ $output == *"$DATA"* ]]
    "$BERTH" run --quiet --runtime process -- /bin/true
}

@test "a full disk: 503 meanwhile, nothing acknowledged is lost, works after" {
    mount -t tmpfs -o size=64m berth-test "$DATA"
    start_dev
    before=$("$BERTH" submit -o id --runtime process --cpu 100000 -- /bin/true)
    dd if=/dev/zero of="$DATA/filler" bs=1M 2>/dev/null || true
    dd if=/dev/zero of="$DATA/filler2" bs=1k 2>/dev/null || true
    seen=no
    for i in $(seq 200); do
        status=$(curl_api POST /v1/jobs -H 'Content-Type: application/json' \
            -d '{"name":"full","runtime":"process","command":["/bin/true"],"labels":{"pad":"'"$(head -c 3000 /dev/zero | tr '\0' x)"'"},"resources":{"cpu":"100000"}}' | tail -1)
        if [ "$status" = 503 ]; then seen=yes; break; fi
        [ "$status" = 201 ]
    done
    [ "$seen" = yes ]
    [ "$(grep -c 'the ledger cannot be written' "$DATA.log")" -ge 1 ]
    [ "$(curl_api GET /healthz | tail -1)" = 200 ]
    rm "$DATA/filler" "$DATA/filler2"
    until_true 30 "$BERTH" run --quiet --runtime process -- /bin/true
    job_is "$before" pending
    accepted=$("$BERTH" ps -o id | wc -l)
    [ "$accepted" -ge "$i" ]
}

# Starts a server on $DATA where it was before, and waits until it says that it waits for room.
start_waiting() {
    "$BERTH" server --data "$DATA" --listen "${BERTH_ADDR#http://}" --worker-listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
    DEV_PID=$!
    until_true 20 grep -q 'the disk is full: the ledger cannot be opened yet' "$DATA.log"
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$BERTH_ADDR/readyz")" = 503 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$BERTH_ADDR/healthz")" = 200 ]
    run curl_api POST /v1/jobs -H 'Content-Type: application/json' -d '{"runtime":"process","command":["true"]}'
    [ "${lines[-1]}" = 503 ]
    [[ $output == *STORE_UNAVAILABLE* ]]
    kill -0 "$DEV_PID"
}

# fill: leaves no room in $DATA.
fill() {
    dd if=/dev/zero of="$DATA/filler" bs=1M 2>/dev/null || true
    dd if=/dev/zero of="$DATA/filler2" bs=1k 2>/dev/null || true
}

# server_goes_on JOB: once there is room; the job is there, others are taken.
server_goes_on() {
    rm "$DATA/filler" "$DATA/filler2"
    until_true 30 job_is "$1" pending
    grep -q 'there is room again' "$DATA.log"
    until_true 20 test -s "$DATA/address"
    "$BERTH" submit --quiet -o id --runtime process -- true
}

@test "a server that begins on a full disk says so and waits for room" {
    mount -t tmpfs -o size=24m berth-test "$DATA"
    "$BERTH" server --data "$DATA" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
    DEV_PID=$!
    until_true 20 test -s "$DATA/address"
    BERTH_ADDR=$(cat "$DATA/address")
    export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
    job=$("$BERTH" submit --quiet -o id --runtime process -- true)
    # Killed, it leaves its log of changes, to be read again.
    kill_dev
    fill
    start_waiting
    server_goes_on "$job"
    # Stopped, it leaves the file alone.
    stop_dev
    [ ! -e "$DATA/ledger.db-wal" ]
    fill
    : >"$DATA.log"
    start_waiting
    server_goes_on "$job"
    # Whoever ends it meanwhile does not wait. (After a kill the next try may find room in what the first
    # one left: only a ledger that was closed stays as full as it is.)
    stop_dev
    fill
    : >"$DATA.log"
    start_waiting
    stop_dev
}

@test "a server waits for room for what it writes beside its ledger" {
    mount -t tmpfs -o size=1m berth-test "$DATA"
    store=sqlite:$BATS_TEST_TMPDIR/ledger.db
    for way in first again; do # tokens and address; the address alone
        fill
        : >"$DATA.log"
        "$BERTH" server --data "$DATA" --store "$store" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
        DEV_PID=$!
        until_true 20 grep -q 'the disk is full: the server cannot begin yet' "$DATA.log"
        [ ! -s "$DATA/address" ]
        kill -0 "$DEV_PID"
        rm "$DATA/filler" "$DATA/filler2"
        until_true 20 test -s "$DATA/address"
        grep -q 'there is room again' "$DATA.log"
        BERTH_ADDR=$(cat "$DATA/address")
        export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
        until_true 20 "$BERTH" submit --quiet -o id --runtime process -- true
        [ "$way" = again ] || stop_dev
    done
    # Whoever ends it while it waits does not wait.
    stop_dev
    fill
    : >"$DATA.log"
    "$BERTH" server --data "$DATA" --store "$store" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
    DEV_PID=$!
    until_true 20 grep -q 'the disk is full: the server cannot begin yet' "$DATA.log"
    stop_dev
}

@test "a server refuses a token's file of its own that others can read" {
    mkdir -p "$DATA"
    printf '%064d\n' 7 >"$DATA/given"
    chmod 644 "$DATA/given"
    run timeout 20 "$BERTH" server --data "$DATA" --token-file "$DATA/given" --listen 127.0.0.1:0
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
    [[ $output == *"others can read the token in $DATA/given (mode 0644)"* ]]
    chmod 600 "$DATA/given"
    "$BERTH" server --data "$DATA" --token-file "$DATA/given" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
    DEV_PID=$!
    until_true 20 test -s "$DATA/address"
    "$BERTH" job list --addr "$(cat "$DATA/address")" --token-file "$DATA/given"
}

@test "a data folder that was moved away is noticed" {
    start_dev
    mv "$DATA" "$DATA.away"
    run timeout 20 "$BERTH" submit --runtime process -- /bin/true
    mv "$DATA.away" "$DATA"
    echo "$output"
    [ "$status" -ne 0 ]
}

@test "a container killed with its monitor alive, and a monitor that is killed" {
    start_dev
    a=$("$BERTH" submit -o id --image "$(rootdir)" -- sleep 4242)
    until_true 20 pgrep -f '^sleep 4242'
    kill -KILL "$(pgrep -f '^sleep 4242')"
    run "$BERTH" wait "$a" --timeout 60s
    [ "$status" -eq 137 ]
    b=$("$BERTH" submit -o id --image "$(rootdir)" -- sleep 4343)
    until_true 20 pgrep -f '^sleep 4343'
    kill -KILL "$(monitors "$b")"
    run "$BERTH" wait "$b" --timeout 60s
    [ "$status" -eq 125 ]
    curl_api GET "/v1/jobs/$b/attempts" | grep -q '"cause":"MONITOR_LOST"'
    run "$BERTH" job show "$b"
    [[ $output == *MONITOR_LOST* ]]
    run "$BERTH" explain code MONITOR_LOST
    [ "$status" -eq 0 ]
    [[ $output == *"looked after the container was killed"* ]]
    until_true 20 sh -c '! pgrep -f "^sleep 4343"'
    "$BERTH" run --quiet --runtime process -- /bin/true
}

@test "the group of a process that was killed while it looked at the machine is removed by the next one" {
    root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
    dead=$root/berth-probe-$(sh -c 'echo $$') lives=$root/berth-probe-$$
    [ -n "$root" ] && mkdir "$dead" "$lives" || skip "needs a control group hierarchy of version 2 that can be written"
    start_dev
    left=$(cd "$root" && echo berth-probe-*)
    rmdir "$lives"
    [ ! -d "$dead" ]
    [[ $left == *"berth-probe-$$"* ]]
}
