"""The job as the formulations see it: sizes of a grid and weights of its links, integers only.

Slots are numbered canonically: the encoder's block first, the decoder's after it; inside a block
the tensor coordinate t runs fastest, then c (context), d (data copy) and p (pipeline stage)::

    slot(t, c, d, p) = offset + t + tp * (c + cp * (d + dp * p))
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModuleShape:
    """Grid of one module (encoder or decoder).

    Attributes:
        tp: tensor lanes of a stage.
        cp: context slices of a stage.
        pp: pipeline stages.
        ep: expert parallel size, a second factorisation of a stage's tp * cp * dp slots.
        etp: expert tensor parallel size; only read when ep > 1.
        vpp: virtual stages a pipeline stage holds; above 1 the last stage also feeds the first.
    """

    tp: int
    cp: int
    pp: int
    ep: int = 1
    etp: int = 1
    vpp: int = 1


@dataclass(frozen=True, slots=True)
class Job:
    """One or two modules, encoder first, copied `dp` times.

    Attributes:
        modules: the module grids, (decoder,) or (encoder, decoder).
        dp: data parallel copies, shared by the modules.
        tied: whether the decoder's first and last stage share embeddings (a pair link a lane).

    Example:
        >>> Job((ModuleShape(2, 2, 1), ModuleShape(6, 2, 2)), dp=2).world
        56
    """

    modules: tuple[ModuleShape, ...]
    dp: int
    tied: bool = False

    @property
    def world(self) -> int:
        """Number of slots."""
        return self.dp * sum(m.tp * m.cp * m.pp for m in self.modules)


@dataclass(frozen=True, slots=True)
class Weights:
    """Cost of one link of each kind; non-negative integers."""

    tp: int
    cp: int
    dp: int
    pp: int
    ep: int = 0
    expt_tp: int = 0
    expt_dp: int = 0
    embd: int = 0
