#!/bin/sh
# Fails unless the greeting is right.

expected="Hello, World"
actual=$(sh ./greet.sh World)

if [ "$actual" = "$expected" ]; then
    echo "ok: $actual"
else
    echo "FAILED: expected '$expected', got '$actual'" >&2
    exit 1
fi
