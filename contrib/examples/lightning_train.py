# lightning_train.py - training with Lightning, which knows Slurm by itself
"""Lightning saves and requeues the job on SIGUSR1 (--signal=SIGUSR1@90).

EGS sends a job the signal it has asked for with --signal, also when its GPUs
are wanted, so this needs no line for EGS.  After a requeue Lightning goes on
with what it has saved.
"""
import signal

import lightning as L
import torch
from lightning.pytorch.plugins.environments import SLURMEnvironment
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(512, 512)

    def training_step(self, batch, index):
        (x,) = batch
        return nn.functional.mse_loss(self.layer(x), x)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def main():
    data = DataLoader(TensorDataset(torch.randn(65536, 512)), batch_size=64)
    trainer = L.Trainer(
        max_epochs=100,
        num_nodes=2,
        devices="auto",
        plugins=[SLURMEnvironment(requeue_signal=signal.SIGUSR1)],
    )
    trainer.fit(Model(), data)


if __name__ == "__main__":
    main()
