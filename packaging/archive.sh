#!/usr/bin/env bash
# Makes an archive of a binary, for systems without packages: the program, its manual pages, completions and units.
# usage: packaging/archive.sh BINARY FOLDER
set -euo pipefail
. "$(dirname "$(realpath "$0")")/stage.sh"

name="holon-$version-$(uname -m)-linux"
put_program "$stage/$name/bin/holon"
put_pages "$stage/$name/share/man/man1"
install -d "$stage/$name/share/completions"
for shell in bash zsh fish; do "$binary" completions "$shell" >"$stage/$name/share/completions/holon.$shell"; done
cp -R "$here/systemd" "$stage/$name/share/systemd"
cp "$here/../LICENSE" "$here/../README.md" "$stage/$name/"
pack "$stage" "$name" | gzip -9n >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
