"""What runs inside the job: is each process where the plan says, and the groups it asks for.

`check` needs neither OR-tools nor a GPU. `planner.runtime.torch`, `planner.runtime.megatron` and
`planner.runtime.jax` import their trainer when they are called.
"""

from planner.runtime.checking import Misplacement, check

__all__ = ["Misplacement", "check"]
