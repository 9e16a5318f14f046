from tests.node.conftest import cluster as cluster
from tests.node.conftest import kafka as kafka
from tests.node.conftest import node as node
from tests.node.conftest import release as release
