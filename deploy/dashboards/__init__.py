"""Grafana dashboards from the files beside this one: `python -m deploy.dashboards` writes them."""
