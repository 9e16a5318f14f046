"""What holds the Helm chart to what real Helm, Kubernetes and its operators take."""
