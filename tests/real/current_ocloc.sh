#!/bin/bash
# current_ocloc.sh DIR: Intel's newest offline compiler for GPUs (Debian unstable) in DIR, by its own loader: prints the path of a
# program `ocloc` that needs nothing of the system. Nothing is installed, and the system's apt is left as it is.
set -euo pipefail
[[ $# == 1 ]] || { sed -n '2,3s/^# //p' "$0"; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
packages=(intel-ocloc libigc2 libigdfcl2)
exec 9>"$dir/lock"
flock 9
if [[ $(cat "$dir/packages" 2>/dev/null) != "${packages[*]}" ]]; then
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # The mirror that the system's own sources name.
    mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
        awk -v release="$release" '$1 == release && $2 == "main" { print $3; exit }')
    [[ $mirror ]] || { echo "current_ocloc.sh: apt's sources name no mirror for $release main; run apt-get update first" >&2; exit 1; }
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
    apt-get install -y -qq --download-only --no-install-recommends "${packages[@]}" >&2
    for link in lib lib64 bin; do ln -s "usr/$link" "$work/root/$link"; done
    for package in "$work"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink --no-same-owner -C "$work/root"
    done
    rm -rf "$dir/root"
    mv "$work/root" "$dir/root"
    cat >"$dir/ocloc" <<'OCLOC'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
libraries=$root/usr/lib/x86_64-linux-gnu
for program in "$root"/usr/bin/ocloc "$root"/usr/bin/ocloc-[0-9]*; do [ ! -x "$program" ] || break; done
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$program" "$@"
OCLOC
    chmod 755 "$dir/ocloc"
    echo "${packages[*]}" >"$dir/packages"
fi
echo "$dir/ocloc"
