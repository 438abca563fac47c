"""ray_bundles.py EXPORTED: a local Ray of labelled nodes; prints the label each bundle landed on."""

import json
import sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster
from ray.util.placement_group import placement_group, placement_group_table

LABEL = "planner.host"


def main():
    plan = json.loads(Path(sys.argv[1]).read_text())
    hosts = [selector[LABEL] for selector in plan["bundle_label_selector"]]
    cluster = Cluster()
    # Added in another order than the plan's, so that only the labels can put bundles right.
    for host in sorted(set(hosts)):
        cluster.add_node(num_cpus=1, num_gpus=hosts.count(host), labels={LABEL: host})
    ray.init(address=cluster.address, log_to_driver=False)
    group = placement_group(
        plan["bundles"], bundle_label_selector=plan["bundle_label_selector"], strategy="PACK"
    )
    ray.get(group.ready(), timeout=60)
    label_of = {node["NodeID"]: node["Labels"][LABEL] for node in ray.nodes()}
    landed = placement_group_table(group)["bundles_to_node_id"]
    json.dump([label_of[landed[i]] for i in range(len(hosts))], sys.stdout)
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
