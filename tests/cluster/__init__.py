"""Runs a real control plane, built from Kubernetes' modules, for what no schema can check about a chart."""
