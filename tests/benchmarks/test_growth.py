"""Sizes of the growth table, and how it is printed."""

from benchmarks.growth import SIZES, Growth, table


def test_sizes_span_three_orders_of_magnitude_with_few_idle_gpus():
    for kind, sizes in SIZES.items():
        problems = [what.problem() for what in sizes]
        gpus = [len(p.cluster.machines.usable) for p in problems]
        assert gpus == sorted(gpus), kind
        assert (gpus[0] <= 128, gpus[-1] >= 131_000) == (True, True)
        assert all(have - p.world_size < 8 for have, p in zip(gpus, problems, strict=True))
    assert len(SIZES["regular"][-1].problem().cluster.machines.levels) == 3


def test_the_table_counts_gaps_from_cost_and_bound():
    text = table([Growth("misfit", 3200, 3200, 640_000, 749_856, 633_600, 61.2, 1024, 2.5, 0.6)])
    assert text.splitlines()[-1] == (
        "| misfit | 3,200 | 3,200 | 749,856 | 640,000 | 633,600 | 1 % | 61.2 | 1,024 | 2.5 | 0.6 |"
    )
