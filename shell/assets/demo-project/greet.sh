# Greets whoever is named; the world when nobody is.
echo "Helo, ${1:-World}"
