"""`holon mcp` as the client that the conformance suite of the protocol looks at. usage: conformance_client.py URL

It adds the server, logs in with a browser that agrees to everything where the server wants that, and calls each tool."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

URL, HOLON = sys.argv[-1], os.environ["HOLON"]
ENVIRONMENT = {**os.environ, "HOLON_HOME": tempfile.mkdtemp(dir=os.environ["HOLON_HOMES"])}


def holon(*words):
    return subprocess.run([HOLON, "mcp", *words], env=ENVIRONMENT, capture_output=True, text=True)


def login():
    child = subprocess.Popen(
        [HOLON, "mcp", "login", "peer"],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    page = child.stdout.readline().strip()
    if page:
        urllib.request.urlopen(page).read()
    out, errors = child.communicate(timeout=30)
    if child.returncode:
        sys.exit(f"no login: {out}{errors}")


holon("add", "peer", "--url", URL)
checked = holon("check")
if "wants a login" in checked.stdout:
    login()
    checked = holon("check")
tools = json.loads(holon("tools", "--json").stdout)["tools"]
for tool in tools:
    name = tool["name"].removeprefix("peer__")
    arguments = {"a": 5, "b": 3} if name == "add_numbers" else {}
    holon("call", "peer", name, json.dumps(arguments))
