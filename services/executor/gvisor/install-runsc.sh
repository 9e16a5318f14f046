#!/bin/sh
# gVisor from the distribution's package, or one line that says what to install.
set -eu
command -v runsc >/dev/null 2>&1 && exit 0
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null 2>&1 && { [ -z "$as_root" ] || $as_root true 2>/dev/null; }; then
  echo "Installing gVisor (runsc) from the distribution's package"
  if $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq runsc >/dev/null; then exit 0; fi
fi
echo "soliloquy: gVisor is missing: install runsc (Debian, Ubuntu: sudo apt-get install runsc; elsewhere: https://gvisor.dev/docs/user_guide/install/)" >&2
exit 2
