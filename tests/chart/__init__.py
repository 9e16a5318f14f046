"""Checks the Helm chart against real Helm, Kubernetes and its operators."""
