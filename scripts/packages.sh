# shellcheck shell=bash
# shellcheck disable=SC2034 # the lists are for those who source this
# What Berth is built from and tested with: packages of Debian 12. Sourced by the scripts beside it.

build_packages=(
    gcc libc6-dev cmake ninja-build pkg-config
    libevent-dev libssl-dev libcurl4-openssl-dev libjansson-dev libyaml-dev libsqlite3-dev
    libsmartcols-dev libarchive-dev libcmocka-dev musl-tools
)
run_packages=(crun runc busybox-static)
test_packages=(bats shellcheck clang-format curl jq procps util-linux python3-minimal)

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        say "This needs root: run it as root, or install sudo."
        return 1
    fi
}

# install_packages NAME...: installs those that are missing.
install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        say "Berth needs these packages of Debian 12, and there is no apt-get here: ${missing[*]}"
        return 1
    fi
    say "installing ${#missing[@]} packages: ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        "${missing[@]}" >/dev/null
}
