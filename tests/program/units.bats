#!/usr/bin/env bats
# What is installed: the programs, and the units for systemd.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    UNITS="server agent"
}

# unit NAME: the unit as it is installed, with the programs of the build.
unit() { sed "s|@BINDIR@|$BUILD|" "$ROOT/packaging/berth-$1.service.in"; }

@test "what a unit starts is a verb with its flags" {
    for name in $UNITS; do
        read -r program verb flags < <(unit "$name" | sed -n 's/^ExecStart=//p')
        [ "$program $verb" = "$BERTH $name" ]
        for flag in $flags; do
            [[ $flag == --* ]] || continue
            "$BERTH" "$verb" --help | grep -qE "^ +$flag( |\$)"
        done
        # Its folder is the one that systemd makes.
        [[ $flags == *"--data /var/lib/$(unit "$name" | sed -n 's/^StateDirectory=//p')"* ]]
        run unit "$name"
        [[ ! $output =~ (^|$'\n')(User|Group)= ]]
    done
}

@test "an agent's unit leaves containers running" {
    unit agent | grep -qx KillMode=process
    signal=$(unit agent | sed -n 's/^KillSignal=SIG//p')
    "$BERTH" agent --help | grep -q "^  $signal .*leave the containers running"
    # Stopped for good it exits with 0, and stays down.
    unit agent | grep -qx Restart=on-failure
}

@test "units are as systemd takes them" {
    command -v systemd-analyze >/dev/null || skip "needs systemd-analyze"
    for name in $UNITS; do
        unit "$name" >"berth-$name.service"
    done
    run systemd-analyze verify --man=no ./berth-server.service ./berth-agent.service
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "an install has what it starts" {
    [ -f "$BUILD/cmake_install.cmake" ] || skip "needs a build folder"
    DESTDIR=$PWD/root cmake --install "$BUILD" >installed
    for name in $UNITS; do
        read -r program _ < <(sed -n 's/^ExecStart=//p' root/*/lib/systemd/system/berth-"$name".service root/*/*/lib/systemd/system/berth-"$name".service 2>/dev/null)
        "root$program" "$name" --help >/dev/null
        [ -x "$(dirname "root$program")/berth-monitor" ]
        [ -x "$(dirname "root$program")/berth-unpack" ]
    done
}
