#!/bin/sh
# Prometheus and promtool from the distribution's package; where they cannot be had, whoever needs them says so.
command -v prometheus >/dev/null 2>&1 && command -v promtool >/dev/null 2>&1 && exit 0
[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || exit 1
echo "Installing Prometheus from the distribution's package"
apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 240 apt-get install -y -qq --no-install-recommends prometheus >/dev/null
