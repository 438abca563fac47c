"""Which GPUs this process sees, by UUID: indices mean nothing inside a container or a cgroup."""

import subprocess
from collections.abc import Mapping


def uuid_of_process(environ: Mapping[str, str], local_rank: int) -> str | None:
    """UUID of the GPU a process of that local rank uses, or None where it cannot be told.

    A process that sees one device uses that one; otherwise the `local_rank`-th it sees.
    """
    seen = visible_uuids(environ)
    if not seen:
        return None
    if len(seen) == 1:
        return seen[0]
    return seen[local_rank] if local_rank < len(seen) else None


def visible_uuids(environ: Mapping[str, str]) -> list[str] | None:
    """UUIDs of the visible GPUs in the order CUDA counts them, or None where they cannot be told.

    CUDA_VISIBLE_DEVICES may hold UUIDs or indices, and ends at the first entry that is neither.
    """
    wanted = environ.get("CUDA_VISIBLE_DEVICES")
    tokens = [] if wanted is None else [token.strip() for token in wanted.split(",")]
    if tokens and all(token.startswith("GPU-") for token in tokens):
        return tokens
    installed = _installed(environ)
    if installed is None or wanted is None:
        return installed
    seen = []
    for token in tokens:
        if token.startswith("GPU-"):
            seen.append(token)
        elif token.isdecimal() and int(token) < len(installed):
            seen.append(installed[int(token)])
        else:
            break
    return seen


def _installed(environ: Mapping[str, str]) -> list[str] | None:
    """UUIDs of the GPUs the driver shows here, by PCI bus, or None without a driver."""
    try:
        done = subprocess.run(  # whichever nvidia-smi the job's own PATH finds
            ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"],  # noqa: S607
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
