"""Options that several commands share, so that they read and mean the same everywhere."""

import click

workers = click.option("--workers", type=click.IntRange(min=1), help="Threads; default all cores.")
seed = click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
time_limit = click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop after this long with the best plan so far.",
)
deterministic = click.option(
    "--deterministic",
    is_flag=True,
    help="Count work instead of seconds: equal input, seed and workers give equal plans.",
)
