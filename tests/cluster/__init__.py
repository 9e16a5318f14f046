"""A real control plane, built from Kubernetes' own modules, for what no schema tells of a chart."""
