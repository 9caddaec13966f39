# shellcheck shell=bash
# Common to the program tests: a `berth dev` of its own for each file, waits with a deadline, and
# counts of what the machine holds. BUILD is the build folder, ROOT the tree (set by ctest).

bats_require_minimum_version 1.5.0

BUILD=${BUILD:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/build/asan}
ROOT=${ROOT:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
BERTH=$BUILD/berth
export BERTH
# Only what a test sets counts: nothing of the person who runs it.
if [ -z "${BERTH_TEST_ENVIRONMENT:-}" ]; then
    unset BERTH_ADDR BERTH_TOKEN BERTH_TOKEN_FILE BERTH_NAMESPACE BERTH_QUEUE BERTH_OUTPUT BERTH_CONFIG
    export BERTH_TEST_ENVIRONMENT=set
fi
# A server of the person who runs it is neither found nor hidden.
export BERTH_RUN_DIR=${BATS_FILE_TMPDIR:-/tmp}/run
export BERTH_ETC=/nonexistent XDG_CONFIG_HOME=/nonexistent ASAN_OPTIONS=abort_on_error=0:exitcode=99

# until_true SECONDS COMMAND...: tries until it succeeds; fails, showing the last output, at the deadline.
until_true() {
    local deadline=$((SECONDS + $1)) out
    shift
    until out=$("$@" 2>&1); do
        if [ "$SECONDS" -ge "$deadline" ]; then
            echo "not true in time: $*" >&2
            echo "$out" >&2
            return 1
        fi
        sleep 0.05
    done
}

# nothing COMMAND...: fails if it succeeds.
nothing() {
    if "$@"; then
        return 1
    fi
}

needs_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

# image NAME: the path of a small OCI image made of Debian's busybox-static, made once.
image() {
    local dir=$BUILD/images/busybox
    [ -f "$dir/index.json" ] || "$ROOT/scripts/make-busybox-image" "$dir" >&2
    echo "oci:$dir"
}

# rootdir: a root folder with busybox, made once a file of tests.
rootdir() {
    local dir=$BATS_FILE_TMPDIR/root tool
    if [ ! -d "$dir" ]; then
        mkdir -p "$dir.new/bin" "$dir.new/tmp" "$dir.new/proc" "$dir.new/dev" "$dir.new/sys" "$dir.new/etc"
        cp /bin/busybox "$dir.new/bin/"
        for tool in sh true false echo cat sleep kill ls dd head tail seq env id printf test yes wc; do
            ln -s busybox "$dir.new/bin/$tool"
        done
        mv "$dir.new" "$dir"
    fi
    echo "dir:$dir"
}

# start_dev [ARG...]: starts `berth dev` on a free port with the folder $DATA; stop with stop_dev.
start_dev() {
    DATA=${DATA:-$(mktemp -d "$BATS_FILE_TMPDIR/data.XXXXXX")}
    rm -f "$DATA/address"
    "$BERTH" dev --data "$DATA" --listen "${LISTEN:-127.0.0.1:0}" "$@" >>"$DATA.log" 2>&1 3>&- &
    DEV_PID=$!
    use_dev
}

# use_dev: waits until the server of $DATA answers, and speaks to it from now on.
use_dev() {
    until_true 20 test -s "$DATA/address" || { cat "$DATA.log" >&2; return 1; }
    BERTH_ADDR=$(cat "$DATA/address")
    BERTH_TOKEN_FILE=$DATA/token
    export BERTH_ADDR BERTH_TOKEN_FILE DATA DEV_PID
    until_true 20 "$BERTH" node list --no-header || { cat "$DATA.log" >&2; return 1; }
    until_true 20 sh -c "'$BERTH' node list -o json | jq -e '.items[0].state==\"ready\"'" >/dev/null
}

stop_dev() {
    [ -n "${DEV_PID:-}" ] || return 0
    kill -TERM "$DEV_PID" 2>/dev/null || true
    wait "$DEV_PID" 2>/dev/null || true
    DEV_PID=''
}

kill_dev() {
    kill -KILL "$DEV_PID" 2>/dev/null || true
    wait "$DEV_PID" 2>/dev/null || true
    DEV_PID=''
}

# curl_api METHOD PATH [CURL-ARG...]: one request with the token; prints body, then the status on a last line.
curl_api() {
    local method=$1 path=$2
    shift 2
    curl -sS -X "$method" -w '\n%{http_code}' -H "Authorization: Bearer $(cat "$BERTH_TOKEN_FILE")" \
        "$@" "$BERTH_ADDR$path"
}

job_state() { "$BERTH" job show "$1" -o json | jq -r .state; }
job_is() { [ "$(job_state "$1")" = "$2" ]; }
task_state() { curl_api GET "/v1/jobs/$1/tasks" | head -n -1 | jq -r '.items[].state' | sort | uniq -c; }

# monitors [JOB]: the ids of the monitors that serve attempts of $DATA, or of one job there.
monitors() {
    local pid
    for pid in $(pgrep '^berth-monitor'); do
        case $(readlink "/proc/$pid/cwd") in
        "$DATA"/*/attempts/"${1:+$1.}"*) echo "$pid" ;;
        esac
    done
}

# holdings: what this machine holds of Berth's: mounts, groups, processes, namespaces.
holdings() {
    echo "mounts $(grep -c "$DATA" /proc/self/mounts)"
    echo "groups $(find /sys/fs/cgroup -type d -path '*/berth/*' 2>/dev/null | wc -l)"
    echo "monitors $(monitors "" | wc -l)"
}
