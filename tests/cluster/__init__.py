"""A real API server and etcd, built from Kubernetes' own modules, for what no schema tells of a chart."""
