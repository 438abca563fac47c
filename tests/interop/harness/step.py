"""One training step of a small encoder and decoder, split over a plan's groups and unsplit.

Every block mixes along the sequence (the mean over all positions, which context ranks must sum)
and through a hidden layer split by columns and rows over tensor ranks. Encoder lanes hand their
output to decoder lanes over `bridge`, decoder stages over `pp`; weight gradients are summed over
`dp_cp`. The unsplit model is the same blocks one after the other on the whole batch.
"""

import torch
import torch.distributed as dist

WIDTH, HIDDEN, BATCH, LENGTH = 4, 12, 4, 8
"""HIDDEN divides by every tp used, BATCH by dp, LENGTH by twice every cp."""


class Copy(torch.autograd.Function):
    """Identity forward, sum over the group backward."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x

    @staticmethod
    def backward(ctx, grad):
        return _summed(grad, ctx.group), None


class Reduce(torch.autograd.Function):
    """Sum over the group forward, identity backward."""

    @staticmethod
    def forward(ctx, x, group):
        return _summed(x, group)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Shared(torch.autograd.Function):
    """Sum over the group both ways: every member uses the sum."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return _summed(x, group)

    @staticmethod
    def backward(ctx, grad):
        return _summed(grad, ctx.group), None


def _summed(x, group):
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


def block(x, up, down, total):
    """Adds a hidden layer of (x + the sequence's mean) to x; `total` sums along the sequence."""
    mean = total(x) / LENGTH
    return x + torch.tanh((x + mean) @ up) @ down


def split_block(x, up, down, groups):
    """The same on one rank's share."""

    def total(part):
        return Shared.apply(part.sum(1, keepdim=True), groups["cp"])

    mean = total(x) / LENGTH
    hidden = torch.tanh(Copy.apply(x + mean, groups["tp"]) @ up)
    return x + Reduce.apply(hidden @ down, groups["tp"])


def weights(blocks):
    """(up, down) of every block, the same in every process."""
    random = torch.Generator().manual_seed(1)
    return [
        tuple(
            torch.randn(*shape, generator=random, dtype=torch.float64) / 3
            for shape in ((WIDTH, HIDDEN), (HIDDEN, WIDTH))
        )
        for _ in range(blocks)
    ]


def batch():
    random = torch.Generator().manual_seed(2)
    shape = (2, BATCH, LENGTH, WIDTH)
    return torch.randn(*shape, generator=random, dtype=torch.float64)


def unsplit(blocks):
    """Loss, and gradients of every block, of the whole model."""
    layers = [[w.clone().requires_grad_() for w in pair] for pair in weights(blocks)]
    x, y = batch()
    for up, down in layers:
        x = block(x, up, down, lambda part: part.sum(1, keepdim=True))
    loss = ((x - y) ** 2).mean()
    loss.backward()
    return loss.item(), [[w.grad for w in pair] for pair in layers]


def zigzag(x, c, size):
    """Share c of the sequence: chunks c and 2 size - 1 - c of 2 size."""
    chunks = x.chunk(2 * size, dim=1)
    return torch.cat([chunks[c], chunks[2 * size - 1 - c]], dim=1)


def share(x, groups):
    """The rank's part of a batch [B, S, H]."""
    dp, cp = (dist.get_world_size(groups[name]) for name in ("dp", "cp"))
    at = groups.coordinates
    return zigzag(x.chunk(dp)[at["dp"]], at["cp"], cp).contiguous()


def train(groups):
    """One step; the largest differences from the unsplit model."""
    stages = {name: mesh.shape[0] for name, mesh in groups.layout.meshes.items()}
    at = groups.coordinates
    first = 0 if groups.module == "encoder" else stages["encoder"]
    number = first + at["pp"]
    tp, place = dist.get_world_size(groups["tp"]), at["tp"]
    up, down = weights(sum(stages.values()))[number]
    mine = [
        up.chunk(tp, dim=1)[place].clone().requires_grad_(),
        down.chunk(tp, dim=0)[place].clone().requires_grad_(),
    ]
    loss = _pass(groups, number, mine, last=number == sum(stages.values()) - 1)
    for w in mine:
        dist.all_reduce(w.grad, group=groups["dp_cp"])
    whole_loss, whole = unsplit(sum(stages.values()))
    right = [whole[number][0].chunk(tp, dim=1)[place], whole[number][1].chunk(tp, dim=0)[place]]
    error = max(float((w.grad - r).abs().max()) for w, r in zip(mine, right, strict=True))
    out = {"gradient_error": error, "gradient_size": max(float(r.abs().max()) for r in right)}
    if loss is not None:
        dist.all_reduce(loss, group=groups["dp_cp"])
        out |= {"loss": float(loss), "loss_error": abs(float(loss) - whole_loss)}
    return out


def _pass(groups, number, mine, last):
    """Forward and backward through this rank's stage; its share of the loss at the last stage."""
    x, y = (share(part, groups) for part in batch())
    incoming, outgoing = neighbours(groups)
    if incoming:
        for peer, group in incoming:
            dist.recv(x, src=peer, group=group)
    x.requires_grad_()
    out = split_block(x, *mine, groups)
    if last:
        loss = ((out - y) ** 2).sum() / (BATCH * LENGTH * WIDTH)
        loss.backward()
    else:
        grads = [torch.empty_like(out) for _ in outgoing]
        for peer, group in outgoing:
            dist.send(out.detach(), dst=peer, group=group)
        for grad, (peer, group) in zip(grads, outgoing, strict=True):
            dist.recv(grad, src=peer, group=group)
        # Every lane that was fed returns the whole gradient of the same activations.
        out.backward(torch.stack(grads).mean(0))
        loss = None
    for peer, group in incoming:
        dist.send(x.grad, dst=peer, group=group)
    return None if loss is None else loss.detach()


def neighbours(groups):
    """(rank, group) pairs this rank receives activations from, and sends them to.

    Between the modules over `bridge`, inside the decoder over the one `pp` group of the rank. All
    lanes that feed a rank hold the same activations, so the last received may stand for all.
    """
    incoming = [(a, g) for (a, b), g in groups.bridge.items() if b == groups.rank]
    outgoing = [(b, g) for (a, b), g in groups.bridge.items() if a == groups.rank]
    stages = groups.layout.meshes[groups.module].shape[0]
    pipeline = groups.families["pp"][0]
    order = dist.get_process_group_ranks(pipeline)
    here = order.index(groups.rank)
    if groups.coordinates["pp"] > 0:
        incoming = [(order[here - 1], pipeline)]
    if groups.coordinates["pp"] < stages - 1:
        outgoing = [(order[here + 1], pipeline)]
    return incoming, outgoing
