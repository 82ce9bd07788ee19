#!/usr/bin/env bash
# Makes a container image of a static binary, as an archive in the OCI layout: podman load, skopeo copy and newer docker load take
# it. No daemon, no registry and no rights are needed. Commands of agents need a shell: ROOT is an archive (tar, or tar.gz) of a
# small system with one, for example Alpine's minirootfs; without it the image has the program alone.
# usage: packaging/image.sh BINARY FOLDER [ROOT]
set -euo pipefail
. "$(dirname "$(realpath "$0")")/stage.sh"
root="${3:-}"

case "$(uname -m)" in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) architecture="$(uname -m)" ;;
esac
# Of a program without libraries ldd says so, or that it is no dynamic one. Its output is kept first: in a pipe, a reader that
# leaves at the first match lets ldd fail, and the answer would depend on who is faster.
libraries="$(ldd "$binary" 2>/dev/null || true)"
if [[ "$libraries" == *'=>'* && -z "$root" ]]; then
  echo "$0: $binary needs libraries, and an image without a system has none: build it for a musl target, or name ROOT" >&2
  exit 2
fi

layout="$stage/layout"
blobs="$layout/blobs/sha256"
install -d "$blobs"
sum() { sha256sum | cut -d' ' -f1; }
# Puts a file among the blobs under its sum; prints what refers to it, of this media type.
blob() {
  local digest
  digest="$(sum <"$1")"
  mv "$1" "$blobs/$digest"
  printf '{"mediaType":"%s","digest":"sha256:%s","size":%s}' "$2" "$digest" "$(stat -c %s "$blobs/$digest")"
}
layers=()
sums=()
# Makes a layer of an archive.
layer() {
  sums+=("\"sha256:$(sum <"$1")\"")
  gzip -9n <"$1" >"$1.gz"
  layers+=("$(blob "$1.gz" application/vnd.oci.image.layer.v1.tar+gzip)")
}

if [ -n "$root" ]; then
  if gzip -t "$root" 2>/dev/null; then gzip -dc "$root" >"$stage/root.tar"; else cp "$root" "$stage/root.tar"; fi
  layer "$stage/root.tar"
fi
put_program "$stage/files/usr/bin/holon"
install -d -m 1777 "$stage/files/tmp"
install -d -m 700 "$stage/files/var/lib/holon"
pack "$stage/files" . >"$stage/program.tar"
layer "$stage/program.tar"

join() { local IFS=,; echo "$*"; }
cat >"$stage/config.json" <<CONFIG
{"architecture":"$architecture","os":"linux","created":"1970-01-01T00:00:00Z","config":{"Entrypoint":["/usr/bin/holon"],"Cmd":["serve"],"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","HOME=/var/lib/holon","HOLON_HOME=/var/lib/holon"],"WorkingDir":"/var/lib/holon","Volumes":{"/var/lib/holon":{}},"StopSignal":"SIGTERM","Labels":{"org.opencontainers.image.title":"holon","org.opencontainers.image.version":"$version","org.opencontainers.image.licenses":"Apache-2.0"}},"rootfs":{"type":"layers","diff_ids":[$(join "${sums[@]}")]}}
CONFIG
config="$(blob "$stage/config.json" application/vnd.oci.image.config.v1+json)"
manifest_type=application/vnd.oci.image.manifest.v1+json
printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' "$manifest_type" "$config" "$(join "${layers[@]}")" >"$stage/manifest.json"
manifest="$(blob "$stage/manifest.json" "$manifest_type")"
named="${manifest%\}},\"platform\":{\"architecture\":\"$architecture\",\"os\":\"linux\"},\"annotations\":{\"org.opencontainers.image.ref.name\":\"holon:$version\"}}"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$named" >"$layout/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
image="$folder/holon-$version-$architecture.oci.tar"
pack "$layout" oci-layout index.json blobs >"$image"
echo "$image"
