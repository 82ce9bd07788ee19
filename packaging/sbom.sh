#!/usr/bin/env bash
# Prints what the binary is made of, as a CycloneDX document: every crate of the lock file that it links, with version,
# license and checksum. Two of one checkout are equal.
# usage: packaging/sbom.sh > sbom.json
set -euo pipefail
cd "$(dirname "$0")/.."
cargo metadata --locked --offline --format-version 1 --filter-platform "${1:-x86_64-unknown-linux-gnu}" |
  python3 -c '
import json, re, sys

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
root = next(id for id, package in packages.items() if package["name"] == "holon")
linked, queue = set(), [root]
while queue:
    id = queue.pop()
    if id in linked:
        continue
    linked.add(id)
    for dependency in nodes[id]["deps"]:
        # Crates for tests are in no binary.
        if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
            queue.append(dependency["pkg"])
lock = open("Cargo.lock").read()
sums = dict(
    ((name, version), checksum)
    for name, version, checksum in re.findall(
        r"name = \"([^\"]+)\"\nversion = \"([^\"]+)\"\nsource = [^\n]+\nchecksum = \"([0-9a-f]+)\"", lock
    )
)

def reference(package):
    return "pkg:cargo/{name}@{version}".format(**package)

def component(package):
    found = {"type": "library", "bom-ref": reference(package), "name": package["name"], "version": package["version"]}
    if package["source"]:
        found["purl"] = reference(package)
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = sums.get((package["name"], package["version"]))
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found

def depends(id):
    below = sorted(reference(packages[d["pkg"]]) for d in nodes[id]["deps"] if d["pkg"] in linked)
    return {"ref": reference(packages[id]), "dependsOn": below}

own = packages[root]
order = sorted(linked, key=lambda id: (packages[id]["name"], packages[id]["version"]))
json.dump({
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": {**component(own), "type": "application"}},
    "components": [component(packages[id]) for id in order if id != root],
    "dependencies": [depends(id) for id in order],
}, sys.stdout, indent=1, sort_keys=True)
print()
'
