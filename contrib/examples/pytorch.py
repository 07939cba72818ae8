# pytorch.py - training with PyTorch that saves when it is asked to
"""One process for each GPU, started by srun (pytorch.sbatch) or alone.

egs.should_yield() costs next to nothing and is called in every step.  With
torch.distributed it is collective: all ranks see the request in the same step.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

try:
    import egs
except ImportError:  # not a cluster with EGS
    egs = None

CKPT = os.environ.get("CKPT", "pytorch.pt")
STEPS = int(os.environ.get("STEPS", "10000"))


def start():
    """Join the other ranks; the device of this one."""
    rank = int(os.environ.get("SLURM_PROCID", "0"))
    world = int(os.environ.get("SLURM_NTASKS", "1"))
    cuda = torch.cuda.is_available()
    if world > 1:
        dist.init_process_group(
            "nccl" if cuda else "gloo", rank=rank, world_size=world
        )
    if not cuda:
        return rank, torch.device("cpu")
    local = int(os.environ.get("SLURM_LOCALID", "0"))
    return rank, torch.device("cuda", local % torch.cuda.device_count())


def save(rank, step, model, optimizer):
    """A checkpoint is whole or it is not there."""
    if rank == 0:
        state = {
            "step": step,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        with open(CKPT + ".new", "wb") as f:
            torch.save(state, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(CKPT + ".new", CKPT)
    if dist.is_initialized():
        dist.barrier()


def load(model, optimizer, device):
    """The step to go on with."""
    if not os.path.exists(CKPT):
        return 0
    state = torch.load(CKPT, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def main():
    rank, device = start()
    model = nn.Linear(512, 512).to(device)
    if dist.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters())
    first = load(model, optimizer, device)

    for step in range(first + 1, STEPS + 1):
        batch = torch.randn(64, 512, device=device)
        loss = (model(batch) - batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if egs and egs.should_yield():
            save(rank, step, model, optimizer)
            egs.yield_(CKPT)
            sys.exit()
        if step % 1000 == 0:
            save(rank, step, model, optimizer)
            if egs and rank == 0:
                egs.saved(CKPT, step)
    if egs and rank == 0:
        egs.finished()


if __name__ == "__main__":
    main()
