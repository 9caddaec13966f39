#!/usr/bin/env bats
# shellcheck disable=SC2154 # stderr is set by run --separate-stderr
# `berth run`: a container's output, code and end are the command's own.

load helper

setup_file() {
    needs_root
    start_dev
}

teardown_file() {
    stop_dev
}

@test "run --detach prints the id and returns, as submit does" {
    id=$("$BERTH" run -d --runtime process -- sh -c 'exit 3')
    run "$BERTH" wait "$id" --timeout 60s
    [ "$status" -eq 3 ]
    [ "$("$BERTH" run --detach -o json --runtime process -- /bin/true | jq -r .name)" = true ]
}

@test "run gives stdout, stderr and the code" {
    run --separate-stderr "$BERTH" run --quiet --image "$(rootdir)" -- sh -c 'echo out; echo err >&2; exit 3'
    [ "$status" -eq 3 ]
    [ "$output" = out ]
    [ "$stderr" = err ]
}

@test "run of an OCI image with crun" {
    run --separate-stderr "$BERTH" run --image "$(image)" --runtime crun -- sh -c 'echo hello from $$'
    [ "$status" -eq 0 ]
    [ "$output" = "hello from 1" ]
}

@test "run with runc" {
    run --separate-stderr "$BERTH" run --image "$(image)" --runtime runc -- echo hi
    [ "$status" -eq 0 ]
    [ "$output" = hi ]
}

@test "run as a bare process, only when it is named" {
    run --separate-stderr "$BERTH" run --runtime process -- sh -c 'echo $BERTH_TASK $BERTH_ATTEMPT'
    [ "$status" -eq 0 ]
    [[ $output == j-*/task.0\ 1 ]]
}

@test "a signal's end is 128 + n" {
    run "$BERTH" run --quiet --image "$(rootdir)" -- sh -c 'kill -TERM $$; sleep 5'
    [ "$status" -eq 143 ] || [ "$status" -eq 0 ]
    run "$BERTH" run --quiet --runtime process -- sh -c 'kill -TERM $$; sleep 5'
    [ "$status" -eq 143 ]
}

@test "a missing command is 127, one that is not executable 126, a missing image 125" {
    run "$BERTH" run --quiet --image "$(rootdir)" -- /no/such/command
    [ "$status" -eq 127 ]
    run "$BERTH" run --quiet --image "$(rootdir)" -- /etc
    [ "$status" -eq 126 ]
    run "$BERTH" run --image dir:/nonexistent/root -- true
    [ "$status" -eq 125 ]
    [[ $output == *IMAGE_ABSENT* ]]
}

@test "a missing command and one not executable, as a bare process" {
    run "$BERTH" run --quiet --runtime process -- /no/such/command
    [ "$status" -eq 127 ]
    run "$BERTH" run --quiet --runtime process -- /etc/passwd
    [ "$status" -eq 126 ]
}

@test "10 MB of binary without a newline come out byte for byte" {
    head -c 10000000 /dev/urandom | tr '\n' 'x' >"$BATS_FILE_TMPDIR/blob"
    rootdir >/dev/null
    cp "$BATS_FILE_TMPDIR/blob" "$BATS_FILE_TMPDIR/root/blob"
    "$BERTH" run --quiet --image "$(rootdir)" -- cat /blob >"$BATS_FILE_TMPDIR/copy"
    cmp "$BATS_FILE_TMPDIR/blob" "$BATS_FILE_TMPDIR/copy"
}

@test "of a log that outgrew its room, what is gone is said" {
    id=$("$BERTH" submit -o id --image "$(rootdir)" -- sh -c 'yes | head -c 4m')
    "$BERTH" wait "$id" --timeout 120s
    run --separate-stderr sh -c "'$BERTH' logs $id | wc -c"
    [ "$output" -gt 0 ]
    [ "$output" -lt 4194304 ]
    [[ $stderr == *"bytes of the log are gone"* ]]
}

@test "out of memory is told apart" {
    run "$BERTH" run --image "$(rootdir)" --memory 32Mi -- sh -c 'tail -c 200m /dev/zero | cat >/dev/null; echo $?; exec tail /dev/zero'
    [ "$status" -eq 137 ]
    [[ $output == *"OUT_OF_MEMORY  peak 32Mi of 32Mi"* ]]
    run "$BERTH" job show last
    [ "$(grep -c 'OUT_OF_MEMORY  peak 32Mi of 32Mi' <<<"$output")" = 2 ] # the job's line and its task's
}

@test "a limit ends it" {
    run "$BERTH" run --image "$(rootdir)" --time 1s --grace 1s -- sleep 60
    [ "$status" -ne 0 ]
    [[ $output == *LIMIT_REACHED* ]]
}

@test "a container that ignores TERM is killed after its grace" {
    id=$("$BERTH" submit -o id --image "$(rootdir)" --grace 1s -- sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done')
    until_true 20 sh -c "'$BERTH' logs $id | grep -q ready"
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
}

@test "a second cancel with a shorter grace ends it sooner" {
    id=$("$BERTH" submit -o id --image "$(rootdir)" --grace 10m -- sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done')
    until_true 20 sh -c "'$BERTH' logs $id | grep -q ready"
    "$BERTH" cancel "$id"
    "$BERTH" cancel "$id" --grace 1s
    until_true 30 job_is "$id" cancelled
}

@test "what is written after TERM is in the log" {
    id=$("$BERTH" submit -o id --image "$(rootdir)" --grace 20s -- sh -c 'trap "echo last words; exit 0" TERM; echo ready; while :; do sleep 0.1; done')
    until_true 20 sh -c "'$BERTH' logs $id | grep -q ready"
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
    "$BERTH" logs "$id" | grep -q 'last words'
}

@test "grandchildren do not outlive their container" {
    run --separate-stderr "$BERTH" run --quiet --image "$(rootdir)" -- sh -c '(sleep 986543 &) ; echo done'
    [ "$status" -eq 0 ]
    nothing pgrep -f 'sleep 986543'
    run --separate-stderr "$BERTH" run --quiet --runtime process -- sh -c '(setsid sleep 986544 &) ; echo done'
    [ "$status" -eq 0 ]
    nothing pgrep -f 'sleep 986544'
}

@test "closing stdout is not the end" {
    run --separate-stderr "$BERTH" run --quiet --image "$(rootdir)" -- sh -c 'echo first; exec >&- 2>&-; sleep 0.3; exit 5'
    [ "$status" -eq 5 ]
    [ "$output" = first ]
}

@test "environment, user and folder are as asked" {
    run --separate-stderr "$BERTH" run --quiet --image "$(rootdir)" --env A=b --user 1000:1000 --work-dir /tmp -- sh -c 'echo $A $(id -u):$(id -g) $PWD'
    [ "$status" -eq 0 ]
    [ "$output" = "b 1000:1000 /tmp" ]
}

@test "network none has only a loopback" {
    run --separate-stderr "$BERTH" run --quiet --image "$(rootdir)" --network none -- ls /sys/class/net
    [ "$status" -eq 0 ]
    [ "$output" = lo ]
}

# on_terminal KEYS COMMAND...: runs it on a terminal whose keys come from the pipe KEYS; what it shows
# is in $SCREEN.
on_terminal() {
    local keys=$1
    shift
    exec script --quiet --return --command "$*" /dev/null <"$keys" >"$SCREEN" 3>&-
}

asked_twice() { [ "$(grep -c "cancel $1?" "$SCREEN")" = 2 ]; }

@test "Ctrl-C asks whether to cancel; a second one cancels" {
    SCREEN=$BATS_TEST_TMPDIR/screen
    mkfifo "$BATS_TEST_TMPDIR/keys"
    exec 7<>"$BATS_TEST_TMPDIR/keys"
    on_terminal "$BATS_TEST_TMPDIR/keys" "$BERTH" run --runtime process -- sh -c "'echo has begun; sleep 600'" 7>&- &
    pid=$!
    until_true 20 grep -q 'has begun' "$SCREEN"
    id=$(sed -n 's/^\(j-[0-9]*\) placed.*/\1/p' "$SCREEN")
    printf '\003' >&7
    until_true 20 grep -q "cancel $id?" "$SCREEN"
    # "n": it goes on, and the next one asks anew.
    printf 'n\n' >&7
    until_true 20 grep -q "^$id goes on" "$SCREEN"
    printf '\003' >&7
    until_true 20 asked_twice "$id"
    job_is "$id" running
    printf '\003' >&7
    until_true 20 job_is "$id" cancelled || { kill "$pid"; return 1; }
    status=0
    wait "$pid" || status=$?
    exec 7>&-
    cat "$SCREEN"
    [ "$status" -eq 130 ]
}

@test "where nobody can be asked the first Ctrl-C cancels" {
    "$BERTH" run --runtime process -- sh -c 'echo has begun; exec sleep 600' \
        >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null 3>&- &
    pid=$!
    until_true 20 grep -q 'has begun' "$BATS_TEST_TMPDIR/out"
    kill -INT "$pid"
    id=$(sed -n 's/^\(j-[0-9]*\) placed.*/\1/p' "$BATS_TEST_TMPDIR/err")
    until_true 20 job_is "$id" cancelled || { kill -KILL "$pid"; return 1; }
    status=0
    wait "$pid" || status=$?
    cat "$BATS_TEST_TMPDIR/err"
    [ "$status" -eq 130 ]
}

@test "when all is over nothing is left" {
    until_true 20 sh -c "[ \$('$BERTH' ps -o id | wc -l) = 0 ]"
    holdings
    [ "$(grep -c "$DATA" /proc/self/mounts)" = 0 ]
    nothing sh -c "find /sys/fs/cgroup -type d -path '*/berth/$(hostname)-$(jq -r .identity "$DATA/agent/agent.json" | head -c 8)/*' | grep -q ."
    [ -z "$(monitors)" ]
}
