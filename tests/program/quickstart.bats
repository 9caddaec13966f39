#!/usr/bin/env bats
# scripts/quickstart, with what it would build already there: by root, and by a user with sudo.

load helper

setup() {
    needs_root
    # Under /tmp itself, so that another user can reach it.
    TREE=$(mktemp -d "${TMPDIR:-/tmp}/berth-quickstart.XXXXXX")
    mkdir -p "$TREE/build/images" "$TREE/bin"
    cp -r "$ROOT/scripts" "$ROOT/examples" "$TREE"
    cp "$BUILD/berth" "$BUILD/berth-monitor" "$BUILD/berth-unpack" "$TREE/build"
    image >/dev/null
    cp -r "$BUILD/images/busybox" "$TREE/build/images"
    printf '#!/bin/sh\n' >"$TREE/scripts/build"
    # A sudo for who may change its user and nothing else.
    printf '#!/bin/sh\nexec setpriv --reuid 0 --regid 0 --clear-groups --ambient-caps -all "$@"\n' >"$TREE/bin/sudo"
    chmod 755 "$TREE" "$TREE/scripts/build" "$TREE/bin/sudo"
    export BERTH_QUICKSTART_LISTEN=127.0.0.1:0 BERTH_RUN_DIR=$TREE/run
}

teardown() {
    if [ -s "$TREE/build/dev.pid" ]; then kill "$(cat "$TREE/build/dev.pid")" || true; fi
    rm -rf "$TREE"
}

# shows_hello: what quickstart printed has each task, the end and the phases, and no server is left.
shows_hello() {
    echo "$output"
    [ "$status" -eq 0 ]
    for i in 0 1 2; do
        grep -q "task.$i | task $i is done" <<<"$output"
    done
    grep -qE '^j-[0-9]+  succeeded  exit 0' <<<"$output"
    grep -qE '^start  +[0-9.]+  +[0-9.]+' <<<"$output"
    [ ! -e "$TREE/build/dev.pid" ]
}

@test "quickstart --once by root" {
    run "$TREE/scripts/quickstart" --once
    shows_hello
}

@test "quickstart --once by a user with sudo" {
    chown -R 12345:12345 "$TREE"
    user=(setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps "+setuid,+setgid" --ambient-caps "+setuid,+setgid"
        env "HOME=$TREE" "PATH=$TREE/bin:$PATH")
    "${user[@]}" sudo true || skip "capabilities cannot be handed on here"
    run "${user[@]}" "$TREE/scripts/quickstart" --once
    shows_hello
    [ "$(stat -c %a "$TREE/build/dev.token")" = 600 ]
}

@test "quickstart refuses what it does not know" {
    run "$TREE/scripts/quickstart" --onec
    [ "$status" -eq 2 ]
    [[ $output == *"unknown argument '--onec'"* ]]
}
