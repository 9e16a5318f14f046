#!/bin/sh
# usage: tests/javascript.sh lint|test
# Installs the tools once. Without npm it skips, except with CI=true.
set -eu
if ! command -v npm >/dev/null; then
  echo "JavaScript: $1 needs npm: install Node.js 20 or later" >&2
  [ "${CI:-}" != true ]
  exit
fi
mkdir -p .venv
if [ ! -e .venv/node ] || [ package-lock.json -nt .venv/node ]; then
  npm ci --silent
  touch .venv/node
fi
npm run --silent "$1"
