from tests.node.conftest import bare as bare
from tests.node.conftest import cluster as cluster
from tests.node.conftest import node as node
