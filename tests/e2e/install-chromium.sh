#!/bin/sh
# Chromium from the distribution's package, for the tests of pages; where it cannot be had, they say so and are skipped.
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 && exit 0
[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || exit 1
echo "Installing Chromium from the distribution's package"
apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 240 apt-get install -y -qq --no-install-recommends chromium >/dev/null
