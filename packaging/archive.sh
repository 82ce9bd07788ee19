#!/usr/bin/env bash
# Makes an archive of a binary, for systems without packages: the program, its manual pages, completions and units.
# usage: packaging/archive.sh BINARY FOLDER
set -euo pipefail
binary="$(realpath "${1:?the binary}")"
mkdir -p "${2:?the folder of the archive}"
folder="$(realpath "$2")"
here="$(dirname "$(realpath "$0")")"

version="$("$binary" --version | awk 'NR == 1 { print $2 }')"
name="holon-$version-$(uname -m)-linux"
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
install -D -m 755 "$binary" "$stage/$name/bin/holon"
strip "$stage/$name/bin/holon" 2>/dev/null || true
install -d "$stage/$name/share/man/man1" "$stage/$name/share/completions"
"$binary" man --into "$stage/$name/share/man/man1" >/dev/null
for shell in bash zsh fish; do "$binary" completions "$shell" >"$stage/$name/share/completions/holon.$shell"; done
cp -R "$here/systemd" "$stage/$name/share/systemd"
cp "$here/../LICENSE" "$here/../README.md" "$stage/$name/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='@0' -C "$stage" -czf "$folder/$name.tar.gz" "$name"
echo "$folder/$name.tar.gz"
