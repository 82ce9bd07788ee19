#!/usr/bin/env bash
# Makes a Debian package of a binary: the program, its manual pages, completions and units.
# usage: packaging/deb.sh BINARY FOLDER
set -euo pipefail
. "$(dirname "$(realpath "$0")")/stage.sh"

architecture="$(dpkg --print-architecture)"
put_program "$stage/usr/bin/holon"
install -D -m 644 "$here/systemd/user/holon.service" "$stage/usr/lib/systemd/user/holon.service"
for unit in holon.service holon.socket; do
  install -D -m 644 "$here/systemd/system/$unit" "$stage/usr/lib/systemd/system/$unit"
done
install -D -m 644 "$here/../LICENSE" "$stage/usr/share/doc/holon/copyright"
put_pages "$stage/usr/share/man/man1"
install -d "$stage/usr/share/bash-completion/completions" "$stage/usr/share/zsh/vendor-completions" \
  "$stage/usr/share/fish/vendor_completions.d"
gzip -9n "$stage"/usr/share/man/man1/*.1
"$binary" completions bash >"$stage/usr/share/bash-completion/completions/holon"
"$binary" completions zsh >"$stage/usr/share/zsh/vendor-completions/_holon"
"$binary" completions fish >"$stage/usr/share/fish/vendor_completions.d/holon.fish"

# What the loader looks for decides how new a system has to be.
libc="$(objdump -T "$binary" 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1 | cut -d_ -f2 || true)"
install -d "$stage/DEBIAN"
cat >"$stage/DEBIAN/control" <<CONTROL
Package: holon
Version: $version
Architecture: $architecture
Maintainer: Holon maintainers <${DEBEMAIL:-holon@localhost}>
Depends: libc6${libc:+ (>= $libc)}
Recommends: git
Section: devel
Priority: optional
Installed-Size: $(du -sk "$stage/usr" | cut -f1)
Description: runtime for long-lived software agents
 Holon runs software agents with durable history: every message, answer and
 action is recorded in one ledger, and survives crashes and restarts.
CONTROL
cat >"$stage/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ] && ! getent passwd holon >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/holon --shell /usr/sbin/nologin holon
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
SCRIPT
cat >"$stage/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now holon.socket holon.service || true
fi
SCRIPT
chmod 755 "$stage/DEBIAN/postinst" "$stage/DEBIAN/prerm"

package="$folder/holon_${version}_${architecture}.deb"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}" dpkg-deb --root-owner-group --build "$stage" "$package" >/dev/null
echo "$package"
