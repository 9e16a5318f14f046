"""Runs the chart on a node with real pods: kubelet, containerd and gVisor in namespaces of their own."""
