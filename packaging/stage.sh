# What scripts that pack a binary begin with; they source it. Sets `binary`, `folder` (where what is made goes), `here`, `version`,
# and `stage`, a folder that goes with the script.
binary="$(realpath "${1:?the binary}")"
mkdir -p "${2:?the folder of what is made}"
folder="$(realpath "$2")"
here="$(dirname "$(realpath "$0")")"
version="$("$binary" --version | awk 'NR == 1 { print $2 }')"
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"

# Puts the program there, without what only a debugger reads.
put_program() {
  install -D -m 755 "$binary" "$1"
  strip "$1" 2>/dev/null || true
}

# Puts a page for each command into a folder.
put_pages() {
  install -d "$1"
  "$binary" man --into "$1" >/dev/null
}

# Packs a folder: equal contents give equal bytes, whoever made them and when.
pack() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='@0' --format=gnu -C "$1" -cf - "${@:2}"
}
