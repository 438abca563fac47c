"""Files written so that they are complete or absent."""

import os
import tempfile
from contextlib import suppress
from errno import ELOOP
from pathlib import Path


def real_target(path: str | Path) -> Path:
    """The file a path leads to: that of a symbolic link, which stays a link.

    Raises:
        OSError: links that lead nowhere but to one another.
    """
    target = Path(path)
    if not target.is_symlink():
        return target
    real = Path(os.path.realpath(target))
    if real.is_symlink():
        raise OSError(ELOOP, os.strerror(ELOOP), str(path))
    return real


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file so that it is complete or absent: a temporary file beside it, then a rename.

    Raises:
        OSError: the folder cannot be written, or there is no room.
    """
    target = real_target(path)
    data = content.encode() if isinstance(content, str) else content
    if target.exists() and not target.is_file():  # /dev/stdout, a pipe: nothing to rename over
        target.write_bytes(data)
        return
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
