"""Fetches and builds the Keycloak of the tests."""

import sys

from tests import keycloak

try:
    keycloak.installed()
except keycloak.KeycloakUnavailable as error:
    sys.exit(f"no Keycloak: {error}")
