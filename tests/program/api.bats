#!/usr/bin/env bats
# The HTTP API as a program meets it: problems, keys, cursors, tokens, metrics.

load helper

setup_file() {
    needs_root
    start_dev
}

teardown_file() {
    stop_dev
}

job='{"name":"api","runtime":"process","command":["/bin/true"]}'

@test "a job is created, found, and its answer names it" {
    out=$(curl_api POST /v1/jobs -H 'Content-Type: application/json' -d "$job" -i)
    echo "$out"
    grep -qi '^location: /v1/jobs/j-' <<<"$out"
    grep -qi '^etag: ' <<<"$out"
    grep -qi '^berth-revision: ' <<<"$out"
    grep -qi '^berth-request-id: ' <<<"$out"
    grep -qx 201 <<<"$(tail -1 <<<"$out")"
}

@test "wrong bodies are refused with a pointer" {
    while IFS='|' read -r status pointer body; do
        out=$(curl_api POST /v1/jobs -H 'Content-Type: application/json' -d "$body")
        echo "$body -> $out"
        [ "$(tail -1 <<<"$out")" = "$status" ]
        [ -z "$pointer" ] || head -n -1 <<<"$out" | jq -e --arg p "$pointer" 'any(.errors[]; .pointer == $p)'
    done <<'E2'
422|/priority|{"runtime":"process","command":["true"],"priority":9223372036854775808}
422|/replicas|{"runtime":"process","command":["true"],"replicas":-1}
422|/resources/cpu|{"runtime":"process","command":["true"],"resources":{"cpu":"NaN"}}
422|/resources/cpu|{"runtime":"process","command":["true"],"resources":{"cpu":"-1"}}
422|/resources/memory|{"runtime":"process","command":["true"],"resources":{"memory":"1e400"}}
422|/nonsense|{"runtime":"process","command":["true"],"nonsense":1}
422|/after|{"runtime":"process","command":["true"],"after":["ok:j-1"]}
E2
    [ "$(curl_api POST /v1/jobs -H 'Content-Type: application/json' -d '{"a":' | tail -1)" = 400 ]
    [ "$(curl_api POST /v1/jobs -H 'Content-Type: text/plain' -d "$job" | tail -1)" = 415 ]
    head -c 1100000 /dev/zero | tr '\0' ' ' >"$BATS_TEST_TMPDIR/large"
    [ "$(curl_api POST /v1/jobs -H 'Content-Type: application/json' --data-binary "@$BATS_TEST_TMPDIR/large" | tail -1)" = 413 ]
}

@test "no token and a wrong one are 401; one without the right 403" {
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$BERTH_ADDR/v1/jobs")" = 401 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer wrong' "$BERTH_ADDR/v1/jobs")" = 401 ]
    viewer=$("$BERTH" token create look --rights viewer -o json | jq -r .token)
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $viewer" "$BERTH_ADDR/v1/jobs")" = 200 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -X POST -H 'Content-Type: application/json' -d "$job" \
        -H "Authorization: Bearer $viewer" "$BERTH_ADDR/v1/jobs")" = 403 ]
    BERTH_TOKEN_FILE=/nonexistent run "$BERTH" ps
    [ "$status" -eq 6 ]
    BERTH_TOKEN_FILE='' BERTH_TOKEN=wrong run "$BERTH" ps
    [ "$status" -eq 6 ]
}

@test "paths, methods and parameters that are not known" {
    [ "$(curl_api GET /v1/nothing | tail -1)" = 404 ]
    [ "$(curl_api DELETE /v1/nodes | tail -1)" = 405 ]
    [ "$(curl_api GET '/v1/jobs?colour=red' | tail -1)" = 400 ]
    [ "$(curl_api GET /v1/jobs/j-999999999 | tail -1)" = 404 ]
    [ "$(curl_api GET '/v1/jobs?cursor=nonsense' | tail -1)" = 400 ]
}

@test "pages follow each other without loss" {
    for i in 1 2 3 4 5; do
        curl_api POST /v1/jobs -H 'Content-Type: application/json' -d "${job/api/page-$i}" >/dev/null
    done
    until_true 20 sh -c "[ \"\$('$BERTH' ps -o id | wc -l)\" = 0 ]"
    all=$("$BERTH" ps -a -o id | sort)
    cursor=''
    got=''
    while :; do
        page=$(curl_api GET "/v1/jobs?limit=2&cursor=$cursor" | head -n -1)
        got+=$(jq -r '.items[].id' <<<"$page")$'\n'
        cursor=$(jq -r '.next // ""' <<<"$page")
        [ -n "$cursor" ] || break
    done
    diff <(grep . <<<"$got" | sort) <(echo "$all")
}

@test "a change needs If-Match" {
    id=$("$BERTH" submit -o id --runtime process --cpu 100000 -- /bin/true)
    [ "$(curl_api PATCH "/v1/jobs/$id" -H 'Content-Type: application/json' -d '{"priority":7}' | tail -1)" = 428 ]
    [ "$(curl_api PATCH "/v1/jobs/$id" -H 'Content-Type: application/json' -H 'If-Match: "1"' -d '{"priority":7}' | tail -1)" = 412 ]
    etag=$(curl_api GET "/v1/jobs/$id" -i | grep -i '^etag:' | cut -d' ' -f2 | tr -d '\r')
    [ "$(curl_api PATCH "/v1/jobs/$id" -H 'Content-Type: application/json' -H "If-Match: $etag" -d '{"priority":7}' | tail -1)" = 200 ]
    [ "$("$BERTH" job show "$id" -o json | jq .priority)" = 7 ]
    "$BERTH" cancel "$id"
}

@test "health, readiness, version, limits, routes and metrics" {
    for path in /healthz /readyz /v1/version /v1/limits /v1/openapi.json /metrics; do
        [ "$(curl_api GET $path | tail -1)" = 200 ]
    done
    curl_api GET /metrics | head -n -1 >"$BATS_TEST_TMPDIR/metrics"
    grep -q '^berth_' "$BATS_TEST_TMPDIR/metrics"
    if command -v promtool >/dev/null; then
        promtool check metrics <"$BATS_TEST_TMPDIR/metrics"
    fi
}

@test "requests that two parsers could read in two ways are refused" {
    host=${BERTH_ADDR#http://}
    for head in 'Content-Length: 2\r\nContent-Length: 3' 'Content-Length: 2\r\nTransfer-Encoding: chunked' \
        'Bad : x' ' folded'; do
        out=$(printf 'POST /v1/jobs HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n{}' "$head" |
            timeout 5 bash -c "exec 3<>/dev/tcp/${host%:*}/${host#*:}; cat >&3; head -1 <&3")
        echo "$head -> $out"
        [[ $out == *" 400 "* ]]
    done
}
