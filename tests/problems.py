"""Small problems that several tests share, and seeded random ones."""

import random
from typing import Any

from planner.spec.problem import Problem


def problem(cluster: Any, job: Any = None, **more: Any) -> Problem:
    """A problem from its parts; an int for the cluster is a number of nodes."""
    if isinstance(cluster, int):
        cluster = {"nodes": cluster}
    return Problem.model_validate({"cluster": cluster, "job": job or {}, **more})


MISFIT = {
    "cluster": {"nodes": 7, "gpus_per_node": 8},
    "job": {
        "encoder": {"tp": 2, "cp": 2, "pp": 1},
        "decoder": {"tp": 6, "cp": 2, "pp": 2},
        "dp": 2,
    },
}

REGULAR = {
    "cluster": {"nodes": 16, "gpus_per_node": 8},
    "job": {"decoder": {"tp": 4, "cp": 2, "pp": 4}, "dp": 4},
}


def random_problem(seed: int, most_slots: int = 9) -> dict[str, Any]:
    """A tiny problem with any mix of features; the same for the same seed."""
    rng = random.Random(seed)
    while True:
        job, world = _random_job(rng)
        if 2 <= world <= most_slots:
            break
    return {
        "cluster": _random_cluster(rng, world),
        "job": job,
        "objective": {"weights": {k: rng.choice([0, 1, 2, 5, 10, 30]) for k in KINDS}},
    }


KINDS = ("tp", "cp", "dp", "pp", "ep", "expt_tp", "expt_dp", "embd")


def _random_job(rng: random.Random) -> tuple[dict[str, Any], int]:
    sizes = [1, 1, 2, 2, 3]
    decoder = {"tp": rng.choice(sizes), "cp": rng.choice(sizes), "pp": rng.choice(sizes)}
    dp = rng.choice([1, 2, 3])
    if decoder["pp"] > 1 and rng.random() < 0.3:
        decoder["vpp"] = 2
    job: dict[str, Any] = {"decoder": decoder, "dp": dp}
    if rng.random() < 0.3:
        job["tied_embeddings"] = True
    world = dp * decoder["tp"] * decoder["cp"] * decoder["pp"]
    if rng.random() < 0.4:
        cp = decoder["cp"] if rng.random() < 0.6 else rng.choice(sizes)
        encoder = {"tp": rng.choice(sizes), "cp": cp, "pp": rng.choice([1, 1, 2])}
        job["encoder"] = encoder
        world += dp * encoder["tp"] * encoder["cp"] * encoder["pp"]
    elif rng.random() < 0.5:
        ranks = decoder["tp"] * decoder["cp"] * dp
        ep = rng.choice([e for e in range(1, ranks + 1) if ranks % e == 0])
        etp = rng.choice([e for e in range(1, ranks // ep + 1) if ranks // ep % e == 0])
        decoder |= {"ep": ep, "etp": etp}
    return job, world


def _random_cluster(rng: random.Random, world: int) -> dict[str, Any]:
    nodes: list[Any] = []
    room = 0
    spare = rng.choice([0, 0, 1])
    while room < world + spare:
        gpus = rng.choice([1, 2, 2, 3, 4])
        node: dict[str, Any] = {"name": f"n{len(nodes)}", "gpus": gpus}
        if gpus > 1 and rng.random() < 0.2:
            node["offline"] = [rng.randrange(gpus)]
        nodes.append(node)
        room += gpus - len(node.get("offline", []))
    cluster: dict[str, Any] = {"nodes": nodes, "node_weight": rng.choice([1, 1, 2])}
    if len(nodes) > 2 and rng.random() < 0.5:
        cluster["levels"] = [{"name": "leaf", "nodes_per_domain": 2, "weight": rng.choice([1, 3])}]
    return cluster
