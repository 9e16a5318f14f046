"""The chart on a node that runs pods: kubelet, containerd and gVisor in namespaces of their own."""
