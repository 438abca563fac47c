"""megatron_groups.py: the groups megatron-core itself creates, rank by rank, without a network.

Standard input: a list of cases {"world", "ranks", and "keywords" of initialize_model_parallel or
"grids", one HyperCommGrid a module, or "plan" for planner.runtime.megatron}. Standard output: for
each case and each rank in `ranks` its groups by family as lists of ranks. torch's fake backend
stands in for the network.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

import torch.distributed as dist  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

FAMILIES = {
    "tp": "_TENSOR_MODEL_PARALLEL_GROUP",
    "cp": "_CONTEXT_PARALLEL_GROUP",
    "dp": "_DATA_PARALLEL_GROUP",
    "dp_cp": "_DATA_PARALLEL_GROUP_WITH_CP",
    "tp_cp": "_TENSOR_AND_CONTEXT_PARALLEL_GROUP",
    "tp_dp": "_TENSOR_AND_DATA_PARALLEL_GROUP",
    "tp_dp_cp": "_TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP",
    "pp": "_PIPELINE_MODEL_PARALLEL_GROUP",
    "mp": "_MODEL_PARALLEL_GROUP",
    "embd": "_EMBEDDING_GROUP",
    "pos_embd": "_POSITION_EMBEDDING_GROUP",
    "ep": "_EXPERT_MODEL_PARALLEL_GROUP",
    "expt_tp": "_EXPERT_TENSOR_PARALLEL_GROUP",
    "expt_dp": "_EXPERT_DATA_PARALLEL_GROUP",
    "tp_ep": "_EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP",
    "tp_ep_pp": "_EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP",
}


def lists(groups):
    """Members of a group, of several (an encoder rank in several pipelines), or of none."""
    several = groups if isinstance(groups, list) else [groups]
    return [dist.get_process_group_ranks(group) for group in several if group is not None]


def own_groups(keywords):
    from megatron.core import parallel_state  # noqa: PLC0415 - releases hold different modules

    parallel_state.initialize_model_parallel(**keywords, create_gloo_process_groups=False)
    found = {name: lists(getattr(parallel_state, where)) for name, where in FAMILIES.items()}
    for i, group in enumerate(parallel_state._HIERARCHICAL_CONTEXT_PARALLEL_GROUPS or []):
        found[f"hcp_{i}"] = lists(group)
    parallel_state.destroy_model_parallel()
    parallel_state._HIERARCHICAL_CONTEXT_PARALLEL_GROUPS = None  # which it forgets
    return found


def grid_groups(grids):
    from megatron.core.hyper_comm_grid import HyperCommGrid  # noqa: PLC0415

    found = {}
    for grid in grids.values():
        made = HyperCommGrid(grid["shape"], grid["dim_names"], grid["rank_offset"])
        for name, dims in (
            ("tp", ["tp"]),
            ("cp", ["cp"]),
            ("dp", ["dp"]),
            ("dp_cp", ["cp", "dp"]),
            ("pp", ["pp"]),
            ("mp", ["tp", "pp"]),
            ("tp_dp_cp", ["tp", "cp", "dp"]),
        ):
            ordered = [dim for dim in grid["dim_names"] if dim in dims]
            group = made.create_pg(ordered)
            if group is not None and group != dist.GroupMember.NON_GROUP_MEMBER:
                found[name] = lists(group)
    return found


def planned_groups(plan):
    import planner.runtime.megatron  # noqa: PLC0415

    made = planner.runtime.megatron.collections(plan)
    (collection,) = [c for c in made.modules.values() if c is not None]
    found = {name: lists(group) for name, group in vars(collection).items()}
    found["bridge"] = [lists(group)[0] for group in made.bridge.values()]
    found["pairs"] = [list(pair) for pair in made.bridge]
    return found


def main():
    ways = {"keywords": own_groups, "grids": grid_groups, "plan": planned_groups}
    answers = []
    for case in json.load(sys.stdin):
        (key,) = ways.keys() & case.keys()
        found = {}
        for rank in case["ranks"]:
            dist.init_process_group("fake", rank=rank, world_size=case["world"], store=FakeStore())
            found[rank] = ways[key](case[key])
            dist.destroy_process_group()
        answers.append(found)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
