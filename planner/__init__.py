"""Places the ranks of a training job on machines, with a proof of how good the plan is."""
