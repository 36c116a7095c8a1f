#!/bin/bash
# unstable.sh DIR PACKAGE...: these packages of Debian unstable, with what they depend on, in DIR/root; prints that folder. DIR/bin has
# their programs, without version numbers in their names, each run by its own loader. Nothing is installed, and the system's
# apt is left as it is.
set -euo pipefail
(($# >= 2)) || { sed -n '2,4s/^# //p' "$0"; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
exec 9>"$dir/lock"
flock 9
if [[ $(cat "$dir/packages" 2>/dev/null) != "$*" ]]; then
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # The mirror that the system's own sources name.
    mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
        awk -v release="$release" '$1 == release && $2 == "main" { print $3; exit }')
    [[ $mirror ]] || { echo "unstable.sh: apt's sources name no mirror for $release main; run apt-get update first" >&2; exit 1; }
    work=$(mktemp -d "$dir/work.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root/usr/"{lib,lib64,bin}
    : >"$work/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$work/sources.list"
    cat >"$work/apt.conf" <<CONF
Dir::State "$work"; Dir::State::lists "$work/lists"; Dir::State::status "$work/status"; Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::preferences "/dev/null"; APT::Architecture "amd64"; APT::Architectures { "amd64"; }; APT::Sandbox::User "root";
Acquire::Languages "none"; Acquire::Retries "3";
CONF
    export APT_CONFIG=$work/apt.conf DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    apt-get install -y -qq --download-only --no-install-recommends "$@" >&2
    for link in lib lib64 bin; do ln -s "usr/$link" "$work/root/$link"; done
    for package in "$work"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink --no-same-owner -C "$work/root"
    done
    rm -rf "$dir/root" "$dir/bin"
    mv "$work/root" "$dir/root"
    mkdir "$dir/bin"
    for program in "$dir"/root/usr/bin/*; do
        name=$(basename "$program" | sed 's/-[0-9.]*$//')
        cat >"$dir/bin/$name" <<RUN
#!/bin/sh
libraries=$dir/root/usr/lib/x86_64-linux-gnu
exec "\$libraries/ld-linux-x86-64.so.2" --library-path "\$libraries" "$program" "\$@"
RUN
        chmod 755 "$dir/bin/$name"
    done
    echo "$*" >"$dir/packages"
fi
echo "$dir/root"
