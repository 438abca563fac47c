"""Regular jobs as published: whole tensor groups on even nodes.

Sizes: the BLOOM and OPT reports; Narayanan et al. 2021, table 1; the Llama 3 report, table 4 (racks
of two hosts, pods of 3,072 GPUs).
"""

from benchmarks.instances.building import consecutive, even, instance, module

_LLAMA = even(2048, 8, consecutive("rack", 2), consecutive("pod", 384, 4))

PUBLISHED = (
    instance("bloom-176b-384", even(48), module(4, pp=12), 8),
    instance("opt-175b-992", even(124), module(8), 124),
    instance("gpt-146b-1536", even(192), module(8, pp=8), 24),
    instance("gpt-530b-2520", even(315), module(8, pp=35), 9),
    instance("gpt-1t-3072", even(384, 8, consecutive("leaf", 20)), module(8, pp=64), 6),
    instance("llama3-405b-16384", _LLAMA, module(8, pp=16), 128),
    instance(
        "llama3-405b-long-16384",
        even(2048, 8, consecutive("leaf", 32, 2)),
        module(8, 16, 16),
        8,
    ),
)
