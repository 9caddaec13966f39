#!/usr/bin/env bats
# Room that others make: jobs that are urgent, or whose queue has less than its share, and what is
# held for them. The machine offers four cores and no more, whatever it has.

load helper

setup() {
    needs_root
    DATA=$(mktemp -d "$BATS_TEST_TMPDIR/data.XXXXXX")
    export DATA
}

teardown() {
    stop_dev
}

# start_small: a server and an agent of four cores.
start_small() {
    start_dev --offer cpu=4
    until_true 20 grep -q '^agent .*  4.0 cpu  ' "$DATA.log"
}

# sleeper NAME PRIORITY CPU [ARG...]: a job that runs until it is told; its id.
sleeper() {
    local name=$1 priority=$2 cpu=$3
    shift 3
    "$BERTH" submit -o id --name "$name" --priority "$priority" --cpu "$cpu" --image "$(rootdir)" "$@" -- \
        sh -c 'trap "exit 3" TERM; echo up; while :; do sleep 0.1; done'
}

# stubborn [FLAG...]: a job of all cores that goes on when it is told to end, until let_go.
stubborn() {
    "$BERTH" submit -o id --name low --priority 1 --cpu 4 --grace 60s --image "$(rootdir)" "$@" -- \
        sh -c 'trap "while [ ! -e /tmp/let-go ]; do sleep 0.1; done; exit 3" TERM; echo up; while :; do sleep 0.1; done'
}

let_go() {
    local pid
    pid=$(pgrep -f 'while \[ ! -e /tmp/let-go \]' | tail -1)
    touch "/proc/$pid/root/tmp/let-go"
}

tasks_of() { curl_api GET "/v1/jobs/$1/tasks?limit=1000" | head -n -1; }
evicted_for() { tasks_of "$1" | jq -r '[.items[].evictedFor // empty] | unique | join(" ")'; }
held() { "$BERTH" job show "$1" -o json | jq -r '[.reservations[]? | .state + " " + (.why // "")] | join(";")'; }
held_is() { [ "$(held "$1")" = "$2" ]; }
events() { curl_api GET "/v1/events?limit=1000" | head -n -1; }
n_evictions() { events | jq '[.items[] | select(.type=="attempt.ended" and .object.cause=="EVICTED")] | length'; }

@test "an urgent job takes the room of another, which comes back after it" {
    start_small
    low=$(sleeper low 1 4 --grace 5s)
    until_true 20 job_is "$low" running
    run "$BERTH" plan --name high --priority 9 --cpu 2 --image "$(rootdir)" -- true
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"would START after evicting 1 task: 1 of 1 tasks"* ]]
    [[ $output == *"$low/task.0#1"* ]]
    [[ $output != *"The rest"* ]] # there is none
    high=$("$BERTH" submit -o id --name high --priority 9 --cpu 2 --image "$(rootdir)" -- sh -c 'echo in; sleep 1')
    until_true 30 job_is "$high" succeeded
    until_true 30 job_is "$low" running
    [ "$(held "$high")" = "used " ]
    # Whose sake it was is said everywhere, and no try was spent.
    attempts=$(curl_api GET "/v1/jobs/$low/attempts" | head -n -1)
    echo "$attempts"
    [ "$(jq -r '.items[0] | .cause + " " + .then + " " + .evictedFor + " " + (.evictions|tostring) + " " + (.tries|tostring)' <<<"$attempts")" = "EVICTED again $high 1 0" ]
    "$BERTH" job show "$high" | grep -q "^room: preempt of $low/task.0#1, used"
    [ "$(n_evictions)" = 1 ]
    "$BERTH" cancel "$low"
    until_true 20 job_is "$low" cancelled
}

@test "what was freed for a job is nobody else's" {
    start_small
    low=$(stubborn)
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    high=$("$BERTH" submit -o id --name high --priority 9 --cpu 3 --image "$(rootdir)" -- sh -c 'sleep 2')
    until_true 20 held_is "$high" "open "
    "$BERTH" explain "$high" | grep -q WAITING_FOR_EVICTION
    small=$("$BERTH" submit -o id --name small --priority 5 --cpu 2 --image "$(rootdir)" -- true)
    let_go
    until_true 30 job_is "$high" succeeded
    until_true 30 job_is "$small" succeeded
    high_began=$("$BERTH" job show "$high" -o json | jq -r .startedAt)
    small_began=$("$BERTH" job show "$small" -o json | jq -r .startedAt)
    [[ $high_began < $small_began ]]
}

@test "one that does not hear is killed after its grace" {
    start_small
    low=$("$BERTH" submit -o id --name low --priority 1 --cpu 4 --grace 1s --image "$(rootdir)" -- \
        sh -c 'trap "" TERM; echo up; while :; do sleep 0.1; done')
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    high=$("$BERTH" submit -o id --name high --priority 9 --cpu 4 --image "$(rootdir)" -- true)
    until_true 30 job_is "$high" succeeded
    [ "$(curl_api GET "/v1/jobs/$low/attempts" | head -n -1 | jq -r '.items[0].signal')" = 9 ]
}

@test "a gang takes room for all of it at once" {
    start_small
    low=$(sleeper low 1 1 --tasks 4 --min-available 1 --grace 5s)
    until_true 20 sh -c "'$BERTH' job show $low -o json | jq -e '.tasks.running==4'"
    gang=$("$BERTH" submit -o id --name gang --priority 9 --cpu 1 --tasks 3 --gang --image "$(rootdir)" -- sh -c 'sleep 1')
    until_true 30 job_is "$gang" succeeded
    # Three went, one stayed; the three are back.
    [ "$(curl_api GET "/v1/jobs/$low/attempts?limit=100" | head -n -1 | jq '[.items[] | select(.cause=="EVICTED")] | length')" = 3 ]
    until_true 30 sh -c "'$BERTH' job show $low -o json | jq -e '.tasks.running==4'"
    [ "$(held "$gang")" = "used " ]
    # All began in one transaction.
    [ "$(events | jq "[.items[] | select(.type==\"attempt.bound\" and .job==\"$gang\") | .time] | unique | length")" = 1 ]
}

@test "a queue takes back its share, and no more" {
    start_small
    "$BERTH" queue create left --weight 1
    "$BERTH" queue create right --weight 1
    left=$(sleeper left 1 1 --tasks 4 --min-available 1 --queue left --grace 5s)
    until_true 20 sh -c "'$BERTH' job show $left -o json | jq -e '.tasks.running==4'"
    right=()
    for i in 1 2 3; do
        right+=("$(sleeper "right$i" 1 1 --queue right --grace 5s)")
    done
    until_true 30 sh -c "[ \$('$BERTH' job list -q right -o json 2>/dev/null | jq '[.items[]|select(.state==\"running\")]|length') = 2 ]"
    until_true 30 sh -c "'$BERTH' job show $left -o json | jq -e '.tasks.running==2'"
    [ "$(n_evictions)" = 2 ]
    held_is "${right[0]}" "used "
    # Why it takes no more is said.
    waits=$("$BERTH" job list -q right --state pending -o id)
    "$BERTH" explain "$waits" -o json | jq -e '.share == {"resource":"cpu","fair":"2","allocated":"2"}'
    "$BERTH" explain "$waits" | grep -q "^queue right holds 2 of its fair share of 2 cpu: with this job it would hold more"
    # It stays so: what is taken is not taken back.
    "$BERTH" submit -o id --name more --cpu 1 --queue left --image "$(rootdir)" -- true
    until_true 20 sh -c "'$BERTH' job list -q left -o json | jq -e '[.items[]|select(.name==\"more\")][0].reasons[0].code'"
    [ "$(n_evictions)" = 2 ]
    for job in "$left" "${right[@]}"; do "$BERTH" cancel "$job"; done
}

@test "a plan of which some waits explains that, and names its own tasks so" {
    start_small
    run "$BERTH" plan --cpu 1 --tasks 6 --image "$(rootdir)" -- true
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"would START now: 4 of 6 tasks"*"The rest would wait:"*"1 by itself"* ]]
}

@test "who was evicted says for whom, and other namespaces are not named" {
    start_small
    "$BERTH" token create lab --rights user --namespace lab --file "$BATS_TEST_TMPDIR/lab"
    low=$(sleeper low 1 4 --grace 5s --namespace lab)
    until_true 20 job_is "$low" running
    since=$(events | jq .revision)
    high=$(sleeper high 9 4 --grace 5s)
    until_true 30 job_is "$high" running
    run "$BERTH" explain "$low"
    echo "$output"
    [[ $output == *"$low/task.0#1 was evicted for $high, "*" ago"* ]]
    "$BERTH" explain "$low" -o json | jq -e ".evicted.evictedFor == \"$high\" and .evicted.attempt == \"$low/task.0#1\""
    # Who is bound to the victim's namespace learns that, and not who.
    hidden="a job of another namespace"
    as_lab() { BERTH_TOKEN_FILE=$BATS_TEST_TMPDIR/lab "$@"; }
    [[ $(as_lab "$BERTH" explain "$low") == *"$low/task.0#1 was evicted for $hidden, "* ]]
    [ "$(as_lab evicted_for "$low")" = "$hidden" ]
    [ "$(as_lab curl_api GET "/v1/jobs/$low/attempts" | head -n -1 | jq -r '.items[0] | .evictedFor + "; " + .message')" = "$hidden; preempt for $hidden" ]
    [ "$(as_lab curl_api GET "/v1/attempts/$low%2Ftask.0%231" | head -n -1 | jq -r .evictedFor)" = "$hidden" ]
    as_lab events >"$BATS_TEST_TMPDIR/events"
    jq -e "[.items[].object.evictedFor // empty] | length > 0 and all(. == \"$hidden\")" "$BATS_TEST_TMPDIR/events"
    nothing grep -q "$high" "$BATS_TEST_TMPDIR/events"
    # So does a stream, from memory, and the other way round a receipt.
    BERTH_TOKEN_FILE=$BATS_TEST_TMPDIR/lab "$BERTH" event watch --from "$since" -o jsonl >"$BATS_TEST_TMPDIR/stream" 3>&- &
    stream=$!
    until_true 20 grep -q EVICTED "$BATS_TEST_TMPDIR/stream"
    kill "$stream"
    grep -q "$hidden" "$BATS_TEST_TMPDIR/stream"
    nothing grep -q "$high" "$BATS_TEST_TMPDIR/stream"
    "$BERTH" job show "$high" -o json | jq -e ".reservations[0].victims == [\"$low/task.0#1\"]"
    "$BERTH" token create own --rights user --namespace default --file "$BATS_TEST_TMPDIR/own"
    BERTH_TOKEN_FILE=$BATS_TEST_TMPDIR/own "$BERTH" job show "$high" -o json | jq -e ".reservations[0].victims == [\"$hidden\"]"
    "$BERTH" job show "$high" | grep -q "^room: preempt of $low/task.0#1, used"
    "$BERTH" cancel "$low" "$high"
}

@test "an owner that is cancelled leaves a receipt, and the victim comes back" {
    start_small
    low=$(stubborn)
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    high=$(sleeper high 9 4)
    until_true 20 held_is "$high" "open "
    "$BERTH" cancel "$high"
    until_true 20 job_is "$high" cancelled
    [ "$(held "$high")" = "ended OWNER_GONE" ]
    # Nobody behind it is promised what it gets back.
    behind=$(sleeper behind 1 4)
    until_true 20 sh -c "'$BERTH' explain $behind -o json | jq -e '.code == \"INSUFFICIENT_CPU\" and ([.changes[].event] | index(\"tasks-end\") | not)'"
    "$BERTH" cancel "$behind"
    let_go
    until_true 30 sh -c "curl -sS -H 'Authorization: Bearer $(cat "$BERTH_TOKEN_FILE")' '$BERTH_ADDR/v1/jobs/$low/attempts' | jq -e '.items|length==2'"
    until_true 20 job_is "$low" running
}

@test "explain says that nobody is evicted for what is above a minimum" {
    start_small
    low=$(sleeper low 1 2)
    until_true 20 job_is "$low" running
    high=$(sleeper high 9 1 --tasks 3 --min-available 2)
    until_true 20 job_is "$high" running
    until_true 20 sh -c "'$BERTH' explain $high | grep -q 'its minimum runs: nobody is evicted for what waits above that'"
    "$BERTH" explain "$high" -o json | jq -e '.aboveMinimum and .state == "running"'
    job_is "$low" running
    # One that waits for its minimum has others evicted, or cannot.
    more=$("$BERTH" submit -o id --cpu 5 --runtime process -- true)
    "$BERTH" explain "$more" -o json | jq -e 'has("aboveMinimum") | not'
    run "$BERTH" explain "$more"
    [[ $output != *"minimum runs"* ]]
    "$BERTH" cancel "$low" "$high" "$more"
}

@test "what is held for one goes to who is more urgent, and costs no eviction" {
    start_small
    low=$(stubborn)
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    mid=$("$BERTH" submit -o id --name mid --priority 5 --cpu 3 --image "$(rootdir)" -- sh -c 'sleep 1')
    until_true 20 held_is "$mid" "open "
    run "$BERTH" plan --name high --priority 9 --cpu 4 --image "$(rootdir)" -- true
    echo "$output"
    [ "$status" -eq 4 ] # what was told to stop has not ended
    [[ $output == *"would WAIT for room that is held for 1 other now, until $low/task.0#1 has ended"*"WAITING_FOR_EVICTION"* ]]
    [[ $output != *latest* ]]
    # As urgent is not more urgent.
    run "$BERTH" plan --name equal --priority 5 --cpu 4 --image "$(rootdir)" -- true
    [[ $output == *"would WAIT"* ]]
    high=$("$BERTH" submit -o id --name high --priority 9 --cpu 4 --image "$(rootdir)" -- sh -c 'sleep 1')
    until_true 20 held_is "$mid" "ended TAKEN"
    held_is "$high" "open "
    "$BERTH" job show "$mid" | grep -q "^room: preempt of $low/task.0#1, ended TAKEN by $high"
    timeout 10 "$BERTH" event watch --from 0 --job "$mid" >"$BATS_TEST_TMPDIR/events" || true
    grep -q "reservation.ended.*why=TAKEN takenBy=$high" "$BATS_TEST_TMPDIR/events"
    "$BERTH" job show "$high" | grep -q "^room: preempt, open, waits for the end of $low/task.0#1\$"
    "$BERTH" explain "$high" | grep -q WAITING_FOR_EVICTION
    "$BERTH" explain "$high" | grep -q "4 by $low/task.0#1 (stopping)"
    # The one that lost it waits anew and is told who has it.
    until_true 20 sh -c "'$BERTH' explain $mid | grep -q INSUFFICIENT_CPU"
    run "$BERTH" explain "$mid"
    echo "$output"
    [[ $output == *"$high/task.0 (held for it)"* ]]
    [[ $output == *"what was held for it went to $high, "*" ago"* ]]
    # One ended and the other began in one transaction.
    events | jq -e --arg mid "$mid" --arg high "$high" '
        ([.items[] | select(.type=="reservation.ended" and .object.job==$mid)][0]) as $lost |
        ([.items[] | select(.type=="reservation.opened" and .object.job==$high)][0]) as $won |
        $lost.object.why == "TAKEN" and $lost.object.takenBy == $high and $lost.time == $won.time and
        $won.object.victims == []'
    kill_dev # it stands as it was
    start_small
    held_is "$mid" "ended TAKEN"
    held_is "$high" "open "
    let_go
    until_true 40 job_is "$high" succeeded
    until_true 30 job_is "$mid" succeeded
    [ "$(held "$high")" = "used " ]
    [ "$(n_evictions)" = 1 ]
    high_began=$("$BERTH" job show "$high" -o json | jq -r .startedAt)
    mid_began=$("$BERTH" job show "$mid" -o json | jq -r .startedAt)
    [[ $high_began < $mid_began ]]
    # It waited for what was being freed, and then went the way of any start.
    "$BERTH" job timeline "$high" -o json | jq -e '.attempts[0].phases | map(.phase) | index("queue") == 0 and index("run") > 0'
    until_true 30 job_is "$low" running
    "$BERTH" cancel "$low"
}

@test "explain does not call fit what is being freed, whoever it was freed for" {
    start_small
    low=$(stubborn)
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    high=$("$BERTH" submit -o id --name high --priority 9 --cpu 4 --image "$(rootdir)" -- true)
    until_true 20 held_is "$high" "open "
    "$BERTH" cancel "$high"
    until_true 20 job_is "$high" cancelled
    # Nobody owns it now. The first in line is promised it, and the second is told so.
    third=$("$BERTH" submit -o id --name third --priority 5 --cpu 3 --image "$(rootdir)" -- true)
    until_true 20 sh -c "'$BERTH' explain $third | grep -q WAITING_FOR_EVICTION"
    run "$BERTH" explain "$third"
    echo "$output"
    [[ $output == *"waits for the end of $low/task.0#1 on "*"fits 0"*"free 0: 4 by $low/task.0#1 (stopping)"* ]]
    run "$BERTH" plan --priority 4 --cpu 2 --runtime process -- true
    echo "$output"
    [[ $output == *"held by $third"*"fits 0"*"(stopping), 3 by $third/task.0 (held for it)"* ]]
    let_go
    until_true 30 job_is "$third" succeeded
    until_true 30 job_is "$low" running
    "$BERTH" cancel "$low"
}

@test "what is held for a gang is taken whole" {
    start_small
    low=$(stubborn)
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    gang=$("$BERTH" submit -o id --name gang --priority 5 --cpu 2 --tasks 2 --gang --image "$(rootdir)" -- true)
    until_true 20 held_is "$gang" "open "
    high=$("$BERTH" submit -o id --name high --priority 9 --cpu 1 --image "$(rootdir)" -- sh -c 'sleep 1')
    until_true 20 held_is "$gang" "ended TAKEN"
    "$BERTH" job show "$gang" -o json | jq -e '[.reservations[0].rooms[].why] == ["TAKEN", "TAKEN"]'
    let_go
    until_true 40 job_is "$high" succeeded
    until_true 30 job_is "$gang" succeeded
    [ "$(n_evictions)" = 1 ]
    "$BERTH" cancel "$low"
}

@test "a queue takes back what is held beyond the share of another" {
    start_small
    "$BERTH" queue create left --weight 1
    "$BERTH" queue create right --weight 1
    low=$(stubborn --queue left)
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    mid=$("$BERTH" submit -o id --name mid --queue left --priority 5 --cpu 4 --image "$(rootdir)" -- true)
    until_true 20 held_is "$mid" "open "
    taker=$("$BERTH" submit -o id --name right --queue right --cpu 2 --image "$(rootdir)" -- sh -c 'sleep 1')
    until_true 20 held_is "$mid" "ended TAKEN"
    "$BERTH" job show "$taker" | grep -q "^room: reclaim, open, waits for the end of $low/task.0#1\$"
    let_go
    until_true 40 job_is "$taker" succeeded
    [ "$(n_evictions)" = 1 ]
    until_true 30 job_is "$mid" succeeded
    "$BERTH" cancel "$low"
}

@test "a server killed between eviction and bind holds the room for whom it was made" {
    start_small
    low=$(stubborn)
    until_true 20 sh -c "'$BERTH' logs $low | grep -q up"
    high=$("$BERTH" submit -o id --name high --priority 9 --cpu 3 --image "$(rootdir)" -- sh -c 'sleep 1')
    until_true 20 held_is "$high" "open "
    other=$("$BERTH" submit -o id --name other --priority 5 --cpu 4 --image "$(rootdir)" -- true)
    kill_dev
    start_small
    held_is "$high" "open "
    let_go
    until_true 40 job_is "$high" succeeded
    [ "$(held "$high")" = "used " ]
    until_true 30 job_is "$other" succeeded
    [ "$(n_evictions)" = 1 ]
    until_true 30 job_is "$low" running
    "$BERTH" cancel "$low"
}
