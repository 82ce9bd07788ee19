#!/bin/sh
# Greets whoever is named; the world when nobody is.

greet() {
    echo "Helo, $1"
}

greet "${1:-World}"
