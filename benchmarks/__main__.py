"""`python -m benchmarks NAME`: measures this machine."""

from benchmarks.commands import bench

if __name__ == "__main__":
    bench(prog_name="python -m benchmarks")
