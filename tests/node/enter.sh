# enter.sh FOLDER COMMAND..: in namespaces of its own, whose network is a bridge for pods and nothing else.
# Control groups too: what is made below /sys/fs/cgroup is below this process's own, under the folder's name.
set -eu
if [ "${1}" != --inside ]; then
    name=$(basename "$1")
    for hierarchy in cpu cpuacct cpuset memory devices freezer blkio pids systemd; do
        parent=/sys/fs/cgroup/$hierarchy$(sed -n "s/^[0-9]*:\(name=\)\?$hierarchy://p" /proc/self/cgroup)
        mkdir "$parent/$name"
        if [ $hierarchy = cpuset ]; then
            for file in cpuset.cpus cpuset.mems; do cat "$parent/$file" > "$parent/$name/$file"; done
        fi
        echo $$ > "$parent/$name/cgroup.procs"
    done
    # Whoever ends it ends all that is in it: the first process of a PID namespace takes the others with it.
    exec setpriv --pdeathsig KILL unshare --net --mount --pid --cgroup --ipc --uts --fork --kill-child \
        --propagation private sh "$0" --inside "$@"
fi
shift 2
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /sys/fs/cgroup
for hierarchy in cpu cpuacct cpuset memory devices freezer blkio pids; do
    mkdir /sys/fs/cgroup/$hierarchy
    mount -t cgroup -o $hierarchy cgroup /sys/fs/cgroup/$hierarchy
done
mkdir /sys/fs/cgroup/systemd
mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
mount -t tmpfs tmpfs /run
mount --make-rshared /
hostname node
ip link set lo up
ip link add pods type bridge
# Of 198.18.0.0/15, which is set aside for tests of networks; tests/kafka has the other half.
ip address add 198.19.0.1/16 dev pods
ip link set pods up
# Of Services: kube-proxy changes the address of what leaves, for which there has to be a way.
ip route add 10.96.0.0/16 dev pods
echo 1 > /proc/sys/net/ipv4/ip_forward
# Not in its place: the first process takes in those whose parents have ended.
"$@"
