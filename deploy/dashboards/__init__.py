"""Generates Grafana dashboards from the TOML files here: `python -m deploy.dashboards`."""
