#!/usr/bin/env bats
# Server and agents apart: several machines, one cut off, one restarted, one of another life.

load helper

setup() {
    needs_root
    DATA=$(mktemp -d "$BATS_TEST_TMPDIR/server.XXXXXX")
    start_server
}

teardown() {
    for pid in ${PIDS:-}; do
        kill -CONT "$pid" 2>/dev/null || true
        kill -TERM "$pid" 2>/dev/null || true
    done
    for pid in ${PIDS:-}; do
        wait "$pid" 2>/dev/null || true
    done
    umount "$BATS_TEST_TMPDIR/one" 2>/dev/null || true
}

start_server() {
    rm -f "$DATA/address"
    "$BERTH" server --data "$DATA" --listen "${LISTEN:-127.0.0.1:0}" --node-ttl "${NODE_TTL:-3s}" >>"$DATA.log" 2>&1 3>&- &
    SERVER_PID=$!
    PIDS="${PIDS:-} $SERVER_PID"
    until_true 20 test -s "$DATA/address"
    BERTH_ADDR=$(cat "$DATA/address")
    export BERTH_ADDR BERTH_TOKEN_FILE=$DATA/token
    until_true 20 "$BERTH" node list --no-header
}

# restart_server TTL: the same ledger with another ttl of nodes.
restart_server() {
    NODE_TTL=$1
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID" || true
    start_server
}

# start_agent NAME [ADDRESS] [ARG...]: an agent with the folder $BATS_TEST_TMPDIR/NAME.
start_agent() {
    local name=$1 address=${2:-$BERTH_ADDR} # "": the server itself
    shift
    [ $# -eq 0 ] || shift
    mkdir -p "$BATS_TEST_TMPDIR/$name"
    "$BERTH" agent --server "$address" --token-file "$DATA/agent-token" --name "$name" \
        --data "$BATS_TEST_TMPDIR/$name" "$@" >>"$BATS_TEST_TMPDIR/$name.log" 2>&1 3>&- &
    AGENT_PID=$!
    PIDS="$PIDS $AGENT_PID"
    until_true 20 node_is "$name" ready
}

node_is() { [ "$("$BERTH" node show "$1" -o json | jq -r .state)" = "$2" ]; }

start_proxy() {
    local host=${BERTH_ADDR#http://}
    "$BUILD/tests/proxy" "${host%:*}" "${host#*:}" >"$BATS_TEST_TMPDIR/proxy.port" 3>&- &
    PROXY_PID=$!
    PIDS="$PIDS $PROXY_PID"
    until_true 10 test -s "$BATS_TEST_TMPDIR/proxy.port"
    PROXY=http://127.0.0.1:$(cat "$BATS_TEST_TMPDIR/proxy.port")
}

@test "a job that comes before the first node waits for it" {
    id=$("$BERTH" submit -o id --runtime process -- /bin/true 2>"$BATS_TEST_TMPDIR/said")
    grep -q "$id waits for the first node" "$BATS_TEST_TMPDIR/said"
    start_agent first "" --offer cpu=1500m --offer memory=1Gi --offer slot=4
    "$BERTH" wait "$id" --timeout 60s
    # What it says it offers is what it was given, not what the machine has.
    until_true 20 grep -q 'offers="*cpu 1500m, memory 1Gi, pods 110, slot 4' "$BATS_TEST_TMPDIR/first.log"
}

@test "a server says at its start how long its nodes live without it" {
    grep -q 'a node that does not hear from this server ends its containers after=.* ttl=3s server-may-be-away=200ms setting="nodes.ttl or --node-ttl"' "$DATA.log"
    restart_server 10m
    grep -q 'after=6m ttl=10m' "$DATA.log"
    # Where nobody says anything.
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID" || true
    "$BERTH" server --data "$DATA" --listen 127.0.0.1:0 >>"$DATA.log" 2>&1 3>&- &
    PIDS="$PIDS $!"
    until_true 20 grep -q 'after=3m ttl=5m server-may-be-away=2m44s' "$DATA.log"
    grep -q '2 min 44 s' "$ROOT/docs/fleet.md"
    grep -q '2 min 44 s' "$ROOT/README.md"
    grep -q 'nodes: {ttl: 10m}' "$ROOT/docs/fleet.md"
    grep -q -- --node-ttl "$ROOT/README.md"
}

@test "two agents share the tasks of a job" {
    start_agent one
    start_agent two
    id=$("$BERTH" submit -o id --runtime process --tasks 4 -- sh -c 'echo $BERTH_NODE; sleep 0.5')
    "$BERTH" wait "$id" --timeout 60s
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq -r '.items[].node' | sort -u | wc -l)" -ge 1 ]
    "$BERTH" logs "$id" | grep -qE 'one|two'
}

@test "an agent's file says what its flags do not" {
    cat >"$BATS_TEST_TMPDIR/agent.yaml" <<'Y'
name: never
offers: {licence: 4, fpga: 1}
labels: {disk: nvme, rack: r1}
taints: [{key: dedicated, value: ml, effect: NoSchedule}]
imagePrefixes: [/never]
allowProcess: false
Y
    start_agent one "" --config "$BATS_TEST_TMPDIR/agent.yaml" --offer licence=9 --label rack=r2 \
        --image-prefix "/nowhere,$BATS_FILE_TMPDIR"
    "$BERTH" node show one -o json | jq -e '.offers.licence == "9" and .offers.fpga == "1"
        and .labels.disk == "nvme" and .labels.rack == "r2" and .labels["host/name"] != null
        and .taints == [{key: "dedicated", value: "ml", effect: "NoSchedule"}]'
    toleration='{"key":"dedicated","operator":"Exists"}'
    printf '{"name":"t","image":"%s","tolerations":[%s],"command":["echo","hi"]}' "$(rootdir)" "$toleration" \
        >"$BATS_TEST_TMPDIR/in.json"
    run "$BERTH" run --quiet "$BATS_TEST_TMPDIR/in.json"
    [ "$output" = hi ]
    printf '{"name":"t","image":"dir:/usr","tolerations":[%s],"command":["echo","hi"]}' "$toleration" \
        >"$BATS_TEST_TMPDIR/out.json"
    # An image from elsewhere waits, with the reason, until a node comes that may use it.
    id=$("$BERTH" submit -o id "$BATS_TEST_TMPDIR/out.json")
    until_true 20 sh -c "'$BERTH' explain $id | grep -q IMAGE_NOT_ALLOWED"
    "$BERTH" explain "$id" --node one | grep -q IMAGE_NOT_ALLOWED
    start_agent two "" --image-prefix /opt,/usr/
    run "$BERTH" wait "$id" --timeout 60s
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq -r '[.items[].node] | unique | join(" ")')" = two ]
    printf '{"name":"t","runtime":"process","tolerations":[%s],"command":["true"]}' "$toleration" \
        >"$BATS_TEST_TMPDIR/process.json"
    run "$BERTH" run "$BATS_TEST_TMPDIR/process.json"
    [ "$status" -ne 0 ]
}

@test "an agent's file with a fault is refused with its line" {
    printf 'name: one\nlables: {a: b}\n' >"$BATS_TEST_TMPDIR/agent.yaml"
    run "$BERTH" agent --config "$BATS_TEST_TMPDIR/agent.yaml" --data "$BATS_TEST_TMPDIR/one"
    [ "$status" -eq 2 ]
    [[ $output == *"agent.yaml:2:"*labels* ]]
}

# The lease is long where a test swaps servers or agents, and short where it shall run out.
@test "an agent that is cut off loses its containers; its tasks run elsewhere once" {
    start_proxy
    start_agent far "$PROXY"
    id=$("$BERTH" submit -o id --runtime process --grace 1s -- sh -c "echo start \$BERTH_NODE >>$BATS_TEST_TMPDIR/ran; sleep 3131; echo end >>$BATS_TEST_TMPDIR/ran")
    until_true 20 job_is "$id" running
    kill -STOP "$PROXY_PID"
    until_true 30 node_is far lost
    # What it ran was ended by its monitor, by the machine's own clock, before the server let go.
    nothing pgrep -f '^sleep 3131'
    grep -q "warn *the lease is over: .*containers=1 unheard-for=.*server=$PROXY.*nodes.ttl" "$BATS_TEST_TMPDIR/far.log"
    start_agent near
    until_true 20 grep -q 'start near' "$BATS_TEST_TMPDIR/ran"
    kill -CONT "$PROXY_PID"
    until_true 30 node_is far ready
    [ "$(grep -c start "$BATS_TEST_TMPDIR/ran")" = 2 ]
    [ "$(pgrep -fc '^sleep 3131')" = 1 ]
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
}

@test "what a lost node runs on is told of its job, as long as it is lost" {
    start_proxy
    start_agent far "$PROXY"
    printf '{"command":["sh","-c","echo start $BERTH_NODE >>%s/ran; sleep 3232"],"runtime":"process","onDisconnect":"keep","grace":"1s"}' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/keep.json"
    id=$("$BERTH" submit -o id "$BATS_TEST_TMPDIR/keep.json")
    until_true 20 job_is "$id" running
    until_true 20 grep -q 'start far' "$BATS_TEST_TMPDIR/ran"
    kill -STOP "$PROXY_PID"
    until_true 30 node_is far lost
    [ "$("$BERTH" job show "$id" -o json | jq -r '[.kept[] | .attempt + " " + .node] | join(" ")')" = "$id/task.0#1 far" ]
    start_agent near
    until_true 20 grep -q 'start near' "$BATS_TEST_TMPDIR/ran"
    "$BERTH" job show "$id" | grep -q 'task.0#1.*far'
    [ "$(pgrep -fc '^sleep 3232')" = 2 ]
    kill -CONT "$PROXY_PID"
    until_true 30 node_is far ready
    until_true 30 sh -c "'$BERTH' job show $id -o json | jq -e '.kept // [] | length == 0'"
    until_true 30 sh -c "[ \$(pgrep -fc '^sleep 3232') = 1 ]"
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
}

@test "an agent that answers again in time keeps what it runs" {
    restart_server 60s
    start_proxy
    start_agent far "$PROXY"
    id=$("$BERTH" submit -o id --runtime process -- sh -c "while [ ! -e $BATS_TEST_TMPDIR/go ]; do sleep 0.1; done; exit 5")
    until_true 20 job_is "$id" running
    kill -STOP "$PROXY_PID"
    sleep 1 # the network is away for a while, far shorter than the ttl
    kill -CONT "$PROXY_PID"
    touch "$BATS_TEST_TMPDIR/go"
    run "$BERTH" wait "$id" --timeout 60s
    [ "$status" -eq 5 ]
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq '.items | length')" = 1 ]
}

@test "a longer ttl holds for a node from its next beat on, and each beat is heard of" {
    LISTEN=127.0.0.1:$((20000 + RANDOM % 10000))
    restart_server 3s
    start_agent one
    until_true 20 sh -c "'$BERTH' node show one -o json | jq -e '.heardAt > .registeredAt and .ttl == \"3s\"'"
    restart_server 60s
    until_true 20 sh -c "'$BERTH' node show one -o json | jq -e '.ttl == \"1m\" and .generation == 1'"
    # A shorter one waits until the agent registers: it might not hear of it.
    restart_server 3s
    beat=$("$BERTH" node show one -o json | jq -r .heardAt)
    until_true 20 sh -c "'$BERTH' node show one -o json | jq -e '.heardAt > \"$beat\"'"
    "$BERTH" node show one -o json | jq -e '.ttl == "1m"'
}

@test "the agent alone is killed and comes back" {
    restart_server 60s
    start_agent one
    id=$("$BERTH" submit -o id --runtime process -- sh -c "while [ ! -e $BATS_TEST_TMPDIR/go ]; do sleep 0.1; done; exit 6")
    until_true 20 job_is "$id" running
    kill -KILL "$AGENT_PID"
    touch "$BATS_TEST_TMPDIR/go"
    start_agent one
    run "$BERTH" wait "$id" --timeout 60s
    [ "$status" -eq 6 ]
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq '.items | length')" = 1 ]
}

@test "a time limit holds while no agent runs, also for what is kept" {
    restart_server 60s
    start_agent one
    id=$("$BERTH" submit -o id --time 2s --grace 1s --retries 0 --on-disconnect keep --runtime process -- \
        sh -c "echo \$\$ >$BATS_TEST_TMPDIR/pid; while :; do sleep 0.1; done")
    until_true 20 job_is "$id" running
    until_true 20 test -s "$BATS_TEST_TMPDIR/pid"
    kill -KILL "$AGENT_PID"
    until_true 30 nothing kill -0 "$(cat "$BATS_TEST_TMPDIR/pid")"
    start_agent one
    until_true 30 job_is "$id" failed
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq -r '[.items[].cause] | join(" ")')" = LIMIT_REACHED ]
}

@test "an agent whose disk is full keeps what runs, takes nothing new, and comes back" {
    mkdir "$BATS_TEST_TMPDIR/one"
    mount -t tmpfs -o size=64m berth-test "$BATS_TEST_TMPDIR/one"
    start_agent one
    keeps=$("$BERTH" submit -o id --runtime process -- \
        sh -c "while [ ! -e $BATS_TEST_TMPDIR/go ]; do sleep 0.1; done; exit 6")
    until_true 20 job_is "$keeps" running
    dd if=/dev/zero of="$BATS_TEST_TMPDIR/one/filler" bs=64k 2>/dev/null || true
    # It may come before the agent has looked: then it finds out by what it cannot write.
    waits=$("$BERTH" submit -o id --retries 0 --runtime process -- /bin/true)
    until_true 30 node_is one disabled
    "$BERTH" node list | grep -q 'disabled .*/one'
    job_is "$keeps" running
    [ "$("$BERTH" submit -o id --need-placed --runtime process -- /bin/true >/dev/null 2>&1; echo $?)" = 4 ]
    until_true 20 sh -c "'$BERTH' explain '$waits' | grep -q 'NODE_CORDONED .* disabled by its agent'"
    rm "$BATS_TEST_TMPDIR/one/filler"
    until_true 30 node_is one ready
    "$BERTH" wait "$waits" --timeout 60s
    touch "$BATS_TEST_TMPDIR/go"
    run "$BERTH" wait "$keeps" --timeout 60s
    [ "$status" -eq 6 ]
    [ "$(curl_api GET "/v1/jobs/$waits/attempts" | head -n -1 | jq -r '[.items[] | select(.cause != "DRAINED").cause] | join(" ")')" = COMPLETED ]
}

@test "a machine that started anew has lost its attempts at once" {
    start_agent one
    id=$("$BERTH" submit -o id --runtime process -- sleep 3232)
    until_true 20 job_is "$id" running
    kill -KILL "$AGENT_PID"
    pkill -KILL -f 'berth-monitor.*one' || true
    pkill -KILL -f '^sleep 3232' || true
    BERTH_TEST_BOOT_ID=another-boot start_agent one
    until_true 20 sh -c "'$BERTH' job show $id -o json | grep -q NODE_LOST || curl -s -H \"Authorization: Bearer \$(cat $DATA/token)\" $BERTH_ADDR/v1/jobs/$id/attempts | grep -q NODE_LOST"
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
    # A real start would have taken the groups with it.
    find /sys/fs/cgroup -depth -type d -path "*/berth/one-$(identity_of one | head -c 8)/*" \
        -exec rmdir {} +
}

@test "an agent that knows another life of the ledger keeps its containers and says so" {
    LISTEN=127.0.0.1:$((20000 + RANDOM % 10000))
    NODE_TTL=60s
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID" || true
    start_server
    start_agent one
    id=$("$BERTH" submit -o id --runtime process -- sleep 3333)
    until_true 20 job_is "$id" running
    agent_token=$(cat "$DATA/agent-token")
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID" || true
    # Another ledger at the same address, with the agent's token.
    DATA=$(mktemp -d "$BATS_TEST_TMPDIR/other.XXXXXX")
    printf '%s' "$agent_token" >"$DATA/agent-token"
    chmod 600 "$DATA/agent-token"
    start_server
    until_true 30 grep -qiE 'orphan|another (life|incarnation)' "$BATS_TEST_TMPDIR/one.log"
    pgrep -f '^sleep 3333'
    # So does the server, though it gave it not: what it knows of the node is not all that runs there.
    until_true 20 sh -c "'$BERTH' node show one -o json | jq -e '.info.orphans == [\"$id/task.0#1\"]'"
    "$BERTH" node list | grep -q '1 orphan of another ledger'
    # What it keeps is its own to clean when it ends by itself.
    pkill -KILL -f '^sleep 3333'
    group=one-$(identity_of one | head -c 8)
    until_true 20 sh -c "! ls -d /sys/fs/cgroup/*/berth/$group/j-*"
}

@test "clocks that differ between server and agent do not matter" {
    unshare --time --boottime 1000000 true 2>/dev/null || skip "no time namespaces here"
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID" || true
    rm -f "$DATA/address"
    unshare --time --boottime 1000000 "$BERTH" server --data "$DATA" --listen 127.0.0.1:0 --node-ttl 3s >>"$DATA.log" 2>&1 3>&- &
    PIDS="$PIDS $!"
    until_true 20 test -s "$DATA/address"
    BERTH_ADDR=$(cat "$DATA/address")
    export BERTH_ADDR
    start_agent one
    run "$BERTH" run --quiet --runtime process -- sh -c 'sleep 5; exit 3'
    [ "$status" -eq 3 ]
    node_is one ready
}

# as_agent NAME FOLDER: another agent for that name, with a folder of its own; it may well be refused.
as_agent() {
    mkdir -p "$BATS_TEST_TMPDIR/$2"
    "$BERTH" agent --server "$BERTH_ADDR" --token-file "$DATA/agent-token" --name "$1" \
        --data "$BATS_TEST_TMPDIR/$2" >>"$BATS_TEST_TMPDIR/$2.log" 2>&1 3>&- &
    AGENT_PID=$!
    PIDS="$PIDS $AGENT_PID"
}

identity_of() { jq -r .identity "$BATS_TEST_TMPDIR/$1/agent.json"; }
node_identity_is() { [ "$("$BERTH" node show "$1" -o json | jq -r .identity)" = "$(identity_of "$2")" ]; }

@test "a node's name is the agent's that has it, until that one is lost" {
    start_agent one
    first=$AGENT_PID
    id=$("$BERTH" submit -o id --runtime process -- sleep 3434)
    until_true 20 job_is "$id" running
    as_agent one two
    until_true 20 grep -q 'cannot register yet' "$BATS_TEST_TMPDIR/two.log"
    grep -qE 'node one is another agent.s, at 127.0.0.1, and ready, heard of [0-9]+ s ago: .*--name' "$BATS_TEST_TMPDIR/two.log"
    run curl -sS -w '\n%{http_code}' -H "Authorization: Bearer $(cat "$DATA/agent-token")" \
        -d '{"node":"one","bootId":"b","identity":"another","offers":{}}' "$BERTH_ADDR/v1/worker/register"
    [ "${lines[-1]}" = 409 ]
    [ "$(jq -r .code <<<"${lines[0]}")" = NODE_TAKEN ]
    # Nothing happened to the node or to what runs there.
    node_identity_is one one
    [ "$("$BERTH" node show one -o json | jq .generation)" = 1 ]
    pgrep -f '^sleep 3434'
    kill -KILL "$first"
    wait "$first" || true
    until_true 30 node_identity_is one two
    until_true 20 node_is one ready
    # The old one comes back: the name is not its any more, and what it ran was ended.
    as_agent one one
    until_true 20 grep -q 'cannot register yet' "$BATS_TEST_TMPDIR/one.log"
    until_true 20 job_is "$id" running
    [ "$(pgrep -fc '^sleep 3434')" = 1 ]
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq -r '[.items[] | (.cause // "live")] | join(" ")')" = "NODE_LOST live" ]
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
}

@test "an agent's folder may be moved, or copied, and is the same agent" {
    restart_server 60s
    start_agent one
    kill -USR1 "$AGENT_PID"
    wait "$AGENT_PID" || true
    mv "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/moved"
    as_agent one moved
    until_true 20 sh -c "'$BERTH' node show one -o json | jq -e '.generation == 2 and .state == \"ready\"'"
    kill -USR1 "$AGENT_PID"
    wait "$AGENT_PID" || true
    cp -a "$BATS_TEST_TMPDIR/moved" "$BATS_TEST_TMPDIR/copied"
    as_agent one copied
    until_true 20 sh -c "'$BERTH' node show one -o json | jq -e '.generation == 3 and .state == \"ready\"'"
    node_identity_is one moved
    # Left, the name is anybody's at once.
    kill -TERM "$AGENT_PID"
    wait "$AGENT_PID" || true
    as_agent one other
    until_true 20 node_identity_is one other
}

@test "a drained node gives up its work, which runs elsewhere, and takes none" {
    start_agent one
    id=$("$BERTH" submit -o id --runtime process --tasks 2 -- sleep 3535)
    until_true 20 job_is "$id" running
    start_agent two
    run "$BERTH" node drain one --grace 1s --reason fan
    [ "$status" -eq 0 ]
    [ "$output" = "one  draining" ]
    "$BERTH" node show one -o json | jq -e '.state == "draining" and .cordon.reason == "fan"'
    until_true 30 sh -c "'$BERTH' node show one -o json | jq -e '.attempts == 0'"
    until_true 30 sh -c "'$BERTH' node show two -o json | jq -e '.attempts == 2'"
    curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq -e '[.items[] | select(.node == "one") | .cause] | unique == ["DRAINED"]'
    # A cordon on top changes nothing; work comes back with an uncordon.
    "$BERTH" node cordon one | grep -q draining
    "$BERTH" node uncordon one | grep -q ready
    "$BERTH" cancel "$id"
    until_true 20 job_is "$id" cancelled
}

@test "labels that people set steer work and outlive the agent" {
    start_agent one "" --label disk=hdd
    id=$("$BERTH" submit -o id --runtime process --node-selector disk=nvme -- true)
    until_true 20 sh -c "'$BERTH' explain $id | grep -q LABEL_MISMATCH"
    "$BERTH" node label one disk=nvme rack=r1
    "$BERTH" wait "$id" --timeout 60s
    kill -TERM "$AGENT_PID"
    wait "$AGENT_PID" || true
    start_agent one "" --label disk=hdd
    "$BERTH" node show one -o json | jq -e '.labels.disk == "nvme" and .labels.rack == "r1" and .setLabels == {disk: "nvme", rack: "r1"}'
    "$BERTH" node label one disk- rack-
    "$BERTH" node show one -o json | jq -e '.labels.disk == "hdd" and .labels.rack == null and .setLabels == null'
    run "$BERTH" node label one disk-
    [ "$status" -ne 0 ]
    [[ $output == *"/labels/disk"* ]] || [[ $output == *"nobody set it"* ]]
    run "$BERTH" node label one disk
    [ "$status" -eq 2 ]
}

@test "a node that is gone can be forgotten, one that is heard of cannot" {
    start_agent one
    run "$BERTH" node forget one
    [ "$status" -eq 2 ]
    [[ $output == *"say --yes"* ]]
    run "$BERTH" node forget one --yes
    [ "$status" -ne 0 ]
    [[ $output == *"node one is ready"* ]]
    kill -TERM "$AGENT_PID"
    wait "$AGENT_PID" || true
    until_true 20 node_is one gone
    [ "$("$BERTH" node forget one --yes)" = "one  forgotten" ]
    run "$BERTH" node show one
    [ "$status" -ne 0 ]
    [ "$("$BERTH" node list -o json | jq '.items | length')" = 0 ]
    # It is a new node when it comes back.
    start_agent one
    "$BERTH" run --quiet --runtime process -- true
}

@test "a limit that was changed while the agent was away is heard of by what it adopts" {
    restart_server 5m
    start_agent one
    id=$("$BERTH" submit -o id --runtime process --grace 1s -- sleep 600)
    until_true 20 job_is "$id" running
    kill -KILL "$AGENT_PID"
    wait "$AGENT_PID" || true
    "$BERTH" job set "$id" --time 100ms
    # The server may be another one too.
    restart_server 5m
    start_agent one
    run "$BERTH" wait "$id" --timeout 60s
    echo "$output"
    [[ $output == *LIMIT_REACHED* ]]
    # Nothing was begun anew for it.
    [ "$(curl_api GET "/v1/jobs/$id/attempts" | head -n -1 | jq '.items | length')" = 1 ]
}

@test "a copy of the server's folder that is run beside it gets no agent and starts nothing" {
    start_agent one
    id=$("$BERTH" submit -o id --runtime process -- sh -c 'echo ran >>'"$BATS_TEST_TMPDIR"'/ran; sleep 600')
    until_true 20 job_is "$id" running
    cp -a "$DATA" "$DATA.copy"
    rm "$DATA.copy/address"
    "$BERTH" server --data "$DATA.copy" --listen 127.0.0.1:0 --node-ttl 3s >>"$DATA.copy.log" 2>&1 3>&- &
    PIDS="$PIDS $!"
    until_true 20 test -s "$DATA.copy/address"
    copy=$(cat "$DATA.copy/address")
    [ "$(curl -s "$copy/v1/version" | jq -r .incarnation)" = "$(curl -s "$BERTH_ADDR/v1/version" | jq -r .incarnation)" ]
    # It holds the node for lost and the task for to be started, and has nobody to start it.
    until_true 30 sh -c "'$BERTH' node show one -o json --addr '$copy' | jq -e '.state == \"lost\"'"
    until_true 20 sh -c "'$BERTH' job show '$id' -o json --addr '$copy' | jq -e '.state == \"pending\"'"
    job_is "$id" running
    node_is one ready
    [ "$(cat "$BATS_TEST_TMPDIR/ran")" = ran ]
}

# begin_copies: a server and an agent that knows a second address; a job runs, the folder is copied, and
# another job begins, of which the copy knows nothing.
begin_copies() {
    local first=$((20000 + RANDOM % 5000)) second=$((25000 + RANDOM % 5000))
    LISTEN=127.0.0.1:$first
    COPY=http://127.0.0.1:$second
    restart_server 5m
    start_agent one "$BERTH_ADDR,$COPY"
    before=$("$BERTH" submit -o id --runtime process -- sh -c "echo before >>$BATS_TEST_TMPDIR/ran; exec sleep 6001")
    until_true 20 job_is "$before" running
    cp -a "$DATA" "$DATA.copy"
    rm "$DATA.copy/address"
    after=$("$BERTH" submit -o id --runtime process -- sh -c "echo after >>$BATS_TEST_TMPDIR/ran; exec sleep 6002")
    until_true 20 job_is "$after" running
}

# start_on FOLDER ADDRESS: a server; sets STARTED.
start_on() {
    rm -f "$1/address"
    "$BERTH" server --data "$1" --listen "${2#http://}" --node-ttl 5m >>"$1.log" 2>&1 3>&- &
    STARTED=$!
    PIDS="$PIDS $STARTED"
    until_true 20 test -s "$1/address"
    until_true 20 "$BERTH" node list --no-header --addr "$2"
}

revision_of() { curl -sD - -o /dev/null -H "Authorization: Bearer $(cat "$DATA/token")" "$1/v1/jobs" | tr -d '\r' | sed -n 's/^[Bb]erth-[Rr]evision: //p'; }

one_try() { [ "$(curl_api GET "/v1/jobs/$1/attempts" | head -n -1 | jq '.items | length')" = 1 ]; }

# refuses_copy: the first server dies, and the agent does nothing by the word of the copy.
refuses_copy() {
    kill -KILL "$SERVER_PID"
    wait "$SERVER_PID" || true
    # Either it is refused, or what it does not know is ended.
    until_true 30 sh -c "grep -q 'a server is refused' '$BATS_TEST_TMPDIR/one.log' || ! pgrep -f '^sleep 6002'"
    pgrep -f '^sleep 6002'
    grep -q "a server is refused: it has another copy of the ledger.*$COPY" "$BATS_TEST_TMPDIR/one.log"
    grep -q 'a node is not registered: this ledger is not the one that it served.*one.*--restored' "$DATA.copy.log"
    pgrep -f '^sleep 6001'
    pgrep -f '^sleep 6002'
    # It knows the node and its first job from before, and heard no more of them.
    "$BERTH" node show one -o json --addr "$COPY" | jq -e '.generation == 1 and (.notRegistered | test("a copy or a backup"))'
    "$BERTH" node list --addr "$COPY" | grep -q '^one .*a copy or a backup'
    "$BERTH" job show "$before" -o json --addr "$COPY" | jq -e '.state == "running"'
    start_server
    until_true 30 sh -c "'$BERTH' node show one -o json | jq -e '.generation > 1 and .state == \"ready\"'"
    job_is "$before" running
    job_is "$after" running
    one_try "$before"
    one_try "$after"
    "$BERTH" node show one -o json | jq -e '.info.findings | any(startswith("refused: ") and contains("'"$COPY"'"))'
    "$BERTH" cancel "$before"
    until_true 20 job_is "$before" cancelled
    job_is "$after" running
    [ "$(cat "$BATS_TEST_TMPDIR/ran")" = "before
after" ]
    end_agent
}

# end_agent: at once, while there is a server that hears of it.
end_agent() {
    kill -TERM "$AGENT_PID"
    until_true 20 sh -c "! '$BERTH' node show one -o json | jq -e '.state == \"ready\"'"
    kill -TERM "$AGENT_PID" 2>/dev/null || true
    wait "$AGENT_PID" || true
}

@test "an agent with two addresses does nothing by the word of a copy that has stayed behind" {
    begin_copies
    start_on "$DATA.copy" "$COPY"
    [ "$(revision_of "$COPY")" -lt "$(revision_of "$BERTH_ADDR")" ]
    refuses_copy
}

@test "an agent with two addresses does nothing by the word of a copy that has gone on further" {
    begin_copies
    start_on "$DATA.copy" "$COPY"
    until [ "$(revision_of "$COPY")" -gt "$(($(revision_of "$BERTH_ADDR") + 20))" ]; do
        other=$("$BERTH" submit -o id --addr "$COPY" --runtime process -- sh -c "echo other >>$BATS_TEST_TMPDIR/ran")
    done
    refuses_copy
    # What the copy has given the node was never started.
    "$BERTH" job show "$other" -o json --addr "$COPY" | jq -e '.state != "succeeded"'
}

@test "a ledger that was moved to another address is gone on with, and its old folder refused from then on" {
    begin_copies
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID" || true
    rm -r "$DATA.copy"
    cp -a "$DATA" "$DATA.copy"
    start_on "$DATA.copy" "$COPY"
    moved=$STARTED
    # Nothing is registered anew: what the agent has seen is in this ledger.
    until_true 30 sh -c "'$BERTH' submit -o id --addr '$COPY' --runtime process -- true >'$BATS_TEST_TMPDIR/id'"
    until_true 30 sh -c "'$BERTH' job show \$(cat '$BATS_TEST_TMPDIR/id') -o json --addr '$COPY' | jq -e '.state == \"succeeded\"'"
    "$BERTH" node show one -o json --addr "$COPY" | jq -e '.generation == 1'
    nothing grep -q 'a server is refused' "$BATS_TEST_TMPDIR/one.log"
    until_true 30 grep -q "another server answers now server=$COPY before=$BERTH_ADDR" "$BATS_TEST_TMPDIR/one.log"
    pgrep -f '^sleep 6001'
    start_server
    kill -KILL "$moved"
    wait "$moved" || true
    until_true 30 grep -q "a server is refused.*$BERTH_ADDR" "$BATS_TEST_TMPDIR/one.log"
    # An agent that begins meanwhile knows it too, from its folder and those of what it adopts.
    kill -KILL "$AGENT_PID"
    wait "$AGENT_PID" || true
    sed -i "s/\"revision\":[0-9]*/\"revision\":1/" "$BATS_TEST_TMPDIR/one/agent.json"
    "$BERTH" agent --server "$BERTH_ADDR,$COPY" --token-file "$DATA/agent-token" --name one \
        --data "$BATS_TEST_TMPDIR/one" >>"$BATS_TEST_TMPDIR/again.log" 2>&1 3>&- &
    AGENT_PID=$!
    PIDS="$PIDS $AGENT_PID"
    until_true 30 grep -q "a server is refused.*$BERTH_ADDR" "$BATS_TEST_TMPDIR/again.log"
    pgrep -f '^sleep 6001'
    pgrep -f '^sleep 6002'
    kill -KILL "$SERVER_PID"
    wait "$SERVER_PID" || true
    start_on "$DATA.copy" "$COPY"
    BERTH_ADDR=$COPY
    until_true 30 sh -c "'$BERTH' node show one -o json | jq -e '.generation > 1 and .state == \"ready\"'"
    job_is "$before" running
    one_try "$after"
    end_agent
}

@test "a backup that was put back is refused until its server is told, and then goes on" {
    begin_copies
    run "$BERTH" server --data "$DATA" --restored
    [ "$status" -ne 0 ]
    [[ $output == *"another server has"* ]]
    kill -KILL "$SERVER_PID"
    wait "$SERVER_PID" || true
    mv "$DATA" "$DATA.lost"
    cp -a "$DATA.copy" "$DATA"
    start_server
    until_true 30 grep -q "a server is refused.*$BERTH_ADDR" "$BATS_TEST_TMPDIR/one.log"
    # It gets nothing here, however young its last beat in the backup is.
    "$BERTH" node show one -o json | jq -e '.state == "unreachable" and (.notRegistered | length) > 0'
    "$BERTH" job show "$before" -o json | jq -e '.state == "running"'
    pgrep -f '^sleep 6002'
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID" || true
    "$BERTH" server --data "$DATA" --restored
    start_server
    until_true 30 sh -c "'$BERTH' node show one -o json | jq -e '.info.orphans == [\"$after/task.0#1\"]'"
    # Nobody is refused any more, and it was registered once for all that.
    "$BERTH" node show one -o json | jq -e '.info.findings | any(startswith("refused: ")) | not'
    [ "$(grep -c ' registered ' "$BATS_TEST_TMPDIR/one.log")" = 2 ]
    job_is "$before" running
    one_try "$before"
    pgrep -f '^sleep 6001'
    pgrep -f '^sleep 6002'
    "$BERTH" run --quiet --runtime process -- true
    # A folder without a ledger has nothing to begin anew.
    run "$BERTH" server --data "$BATS_TEST_TMPDIR/nothing" --restored
    [ "$status" -ne 0 ]
    [[ $output == *"there is no ledger"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/nothing/ledger.db" ]
    end_agent
}

causes_of() { curl_api GET "/v1/jobs/$1/attempts" | head -n -1 | jq -r '[.items | sort_by(.number) | .[] | (.cause // "live")] | join(" ")'; }
causes_are() { [ "$(causes_of "$1")" = "$2" ]; }

@test "of a backup, what runs yet is gone on with, what ended is told, what is not known is an orphan" {
    LISTEN=127.0.0.1:$((20000 + RANDOM % 10000))
    restart_server 5m
    start_agent one
    waits() { echo "while [ ! -e $BATS_TEST_TMPDIR/$1 ]; do sleep 0.1; done"; }
    lives=$("$BERTH" submit -o id --runtime process -- sh -c "$(waits go); exit 7")
    loud=$("$BERTH" submit -o id --runtime process -- sh -c "$(waits end); echo said; exit 4")
    silent=$("$BERTH" submit -o id --runtime process -- sh -c "$(waits end); exit 5")
    gone=$("$BERTH" submit -o id --runtime process -- sh -c "$(waits end); echo ran >>$BATS_TEST_TMPDIR/gone; exit 0")
    held=$("$BERTH" submit -o id --runtime process --node-selector held=no -- sh -c "echo \$BERTH_ATTEMPT >>$BATS_TEST_TMPDIR/held; exec sleep 6003")
    for id in "$lives" "$loud" "$silent" "$gone"; do until_true 20 job_is "$id" running; done
    cp -a "$DATA" "$DATA.copy"
    rm "$DATA.copy/address"
    touch "$BATS_TEST_TMPDIR/end"
    until_true 20 job_is "$loud" failed
    until_true 20 job_is "$silent" failed
    until_true 20 job_is "$gone" succeeded
    "$BERTH" node label one held=no
    until_true 20 job_is "$held" running
    after=$("$BERTH" submit -o id --runtime process -- sleep 6002)
    until_true 20 job_is "$after" running
    kill -KILL "$SERVER_PID"
    wait "$SERVER_PID" || true
    # Of one nothing is known here any more.
    kill -KILL "$AGENT_PID"
    wait "$AGENT_PID" || true
    sed -i "/ $gone\./d" "$BATS_TEST_TMPDIR/one/ended/.silent"
    mv "$DATA" "$DATA.lost"
    cp -a "$DATA.copy" "$DATA"
    "$BERTH" server --data "$DATA" --restored
    start_server
    job_is "$lives" running
    job_is "$loud" running
    start_agent one
    until_true 30 job_is "$loud" failed
    until_true 30 job_is "$silent" failed
    [ "$("$BERTH" job show "$loud" -o json | jq .code)" = 4 ]
    [ "$("$BERTH" job show "$silent" -o json | jq .code)" = 5 ]
    [ "$("$BERTH" logs "$loud")" = said ]
    until_true 30 job_is "$gone" succeeded
    causes_are "$gone" "OTHER_LIFE COMPLETED"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/gone")" = 2 ]
    for id in "$lives" "$loud" "$silent"; do one_try "$id"; done
    job_is "$lives" running
    until_true 30 sh -c "'$BERTH' node show one -o json | jq -e '.info.orphans | length == 2'"
    "$BERTH" node list | grep -q '^one .*2 orphans of another ledger'
    pgrep -f '^sleep 6002'
    # What was let start in the lost part has the name that it would have again: it comes under the next one.
    "$BERTH" node label one held=no
    until_true 30 causes_are "$held" "OTHER_LIFE live"
    until_true 30 job_is "$held" running
    [ "$(cat "$BATS_TEST_TMPDIR/held")" = "1
2" ]
    "$BERTH" run --quiet --runtime process -- true
    touch "$BATS_TEST_TMPDIR/go"
    run "$BERTH" wait "$lives" --timeout 60s
    [ "$status" -eq 7 ]
    one_try "$lives"
    end_agent
}

# What follows a ledger that is put back from a backup is told so: what is in the backup is gone on with.
@test "who follows a job is told that its ledger was put back, and goes on with what is in it" {
    local dir=$BATS_TEST_TMPDIR
    LISTEN=127.0.0.1:$((20000 + RANDOM % 10000))
    restart_server 5m
    start_agent one
    kept=$("$BERTH" submit -o id --runtime process -- sh -c "echo early; while [ ! -e $dir/go ]; do sleep 0.1; done; echo late; exit 7")
    until_true 20 job_is "$kept" running
    cp -a "$DATA" "$DATA.copy"
    rm "$DATA.copy/address"
    "$BERTH" run --runtime process -- sh -c "echo mine; sleep 6002" >"$dir/run.out" 2>"$dir/run" 3>&- &
    run_pid=$!
    until_true 20 grep -q mine "$dir/run.out"
    lost=$("$BERTH" ps -o id | grep -v "^$kept$")
    # Each has heard of what the backup lacks.
    "$BERTH" wait "$kept" "$lost" >"$dir/wait" 2>&1 3>&- &
    wait_pid=$!
    "$BERTH" logs -f "$kept" >"$dir/logs" 2>"$dir/logs.err" 3>&- &
    logs_pid=$!
    "$BERTH" ps -w >"$dir/ps" 2>&1 3>&- &
    ps_pid=$!
    "$BERTH" event watch --from 1 -o jsonl >"$dir/events" 2>"$dir/events.err" 3>&- &
    events_pid=$!
    PIDS="$PIDS $run_pid $wait_pid $logs_pid $ps_pid $events_pid"
    until_true 20 grep -q early "$dir/logs"
    until_true 20 grep -q "^$lost " "$dir/ps"
    until_true 20 grep -q "$lost/task.0#1" "$dir/events"
    kill -KILL "$SERVER_PID"
    wait "$SERVER_PID" || true
    mv "$DATA" "$DATA.lost"
    cp -a "$DATA.copy" "$DATA"
    "$BERTH" server --data "$DATA" --restored
    start_server

    status=0
    wait "$run_pid" || status=$?
    [ "$status" -eq 5 ]
    grep -q "put back from a backup.*$lost is not in it.*LEDGER_FORKED" "$dir/run"
    nothing grep -q 'may still run' "$dir/run"
    status=0
    wait "$events_pid" || status=$?
    [ "$status" -eq 5 ]
    grep -q "put back from a backup.*berth event watch --from [0-9]" "$dir/events.err"
    until_true 20 grep -q 'the list begins anew' "$dir/ps"
    until_true 20 sh -c "sed '1,/begins anew/d' '$dir/ps' | grep -q '^$kept '"
    nothing sh -c "sed '1,/begins anew/d' '$dir/ps' | grep -q '^$lost '"
    until_true 20 grep -q "$lost is not in it" "$dir/wait"
    grep -q 'what is waited for is read anew' "$dir/wait"

    touch "$dir/go"
    status=0
    wait "$wait_pid" || status=$?
    [ "$status" -eq 7 ]
    grep -q "^$kept .*exit 7" "$dir/wait"
    wait "$logs_pid"
    [ "$(cat "$dir/logs")" = "early
late" ]
    end_agent
}

@test "between two lives of a ledger an agent loses nothing of either" {
    begin_copies
    kill -KILL "$SERVER_PID"
    wait "$SERVER_PID" || true
    "$BERTH" server --data "$DATA.copy" --restored
    start_on "$DATA.copy" "$COPY"
    until_true 30 sh -c "'$BERTH' node show one -o json --addr '$COPY' | jq -e '.state == \"ready\" and (.info.orphans | length == 1)'"
    there=$("$BERTH" submit -o id --addr "$COPY" --runtime process -- sleep 6003)
    until_true 30 sh -c "'$BERTH' job show '$there' -o json --addr '$COPY' | jq -e '.state == \"running\"'"
    "$BERTH" job show "$before" -o json --addr "$COPY" | jq -e '.state == "running"'
    kill -KILL "$STARTED"
    wait "$STARTED" || true
    start_server
    until_true 30 sh -c "'$BERTH' node show one -o json | jq -e '.generation > 1 and .state == \"ready\" and (.info.orphans | length == 1)'"
    for id in "$before" "$after"; do
        job_is "$id" running
        one_try "$id"
    done
    # And the copy its own, when that is back.
    kill -KILL "$SERVER_PID"
    wait "$SERVER_PID" || true
    start_on "$DATA.copy" "$COPY"
    BERTH_ADDR=$COPY
    until_true 30 sh -c "'$BERTH' node show one -o json | jq -e '.state == \"ready\" and .connected'"
    until_true 30 sh -c "'$BERTH' job show '$there' -o json | jq -e '.state == \"running\"'"
    one_try "$there"
    one_try "$before"
    "$BERTH" cancel "$there"
    until_true 20 job_is "$there" cancelled
    pgrep -f '^sleep 6002'
    [ "$(cat "$BATS_TEST_TMPDIR/ran")" = "before
after" ]
    end_agent
}
