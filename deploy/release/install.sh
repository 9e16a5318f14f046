#!/bin/sh
# sh install.sh REGISTRY: checks the bundle, pushes its images to a registry, and says how to install the rest. Needs skopeo.
set -eu
registry=${1:?usage: sh install.sh REGISTRY}
cd "$(dirname "$0")"
sha256sum --check --quiet SHA256SUMS
version=$(cat version.txt)
case $registry in
    localhost* | 127.0.0.1*) verify=false ;;
    *) verify=true ;;
esac
while read -r name; do
    skopeo copy --quiet --all --preserve-digests --dest-tls-verify=$verify \
        "oci:images:$name" "docker://$registry/soliloquy/$name:$version"
    echo "pushed $registry/soliloquy/$name:$version"
done < images.txt
cat << MESSAGE
Install the release:       helm install grow $PWD/soliloquy-$version.tgz --set global.imageRegistry=$registry --set kafka.bootstrap=HOST:PORT
Install the command line:  python3.11 -m venv soliloquy && soliloquy/bin/pip install --no-index --find-links $PWD/wheels 'soliloquy-tutor[run]'
MESSAGE
