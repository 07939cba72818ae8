# submitit_train.py - submits a training that resumes, with submitit
"""Options of EGS are additional parameters of Slurm for submitit.

submitit asks for a signal of its own (USR2, 90 s ahead) and calls checkpoint()
when it comes, also when EGS wants the GPUs; the job is then requeued.
"""
import os
import sys
import time

import submitit


class Training:
    """A counter; what it has reached is in a file."""

    def __init__(self, state, steps):
        self.state = state
        self.steps = steps

    def __call__(self):
        step = 0
        if os.path.exists(self.state):
            with open(self.state, encoding="ascii") as f:
                step = int(f.read())
        while step < self.steps:
            time.sleep(1)
            step += 1
            with open(self.state + ".new", "w", encoding="ascii") as f:
                f.write(str(step))
            os.replace(self.state + ".new", self.state)
        return step

    def checkpoint(self):
        return submitit.helpers.DelayedSubmission(
            Training(self.state, self.steps)
        )


def main():
    executor = submitit.AutoExecutor(folder="submitit-logs")
    executor.update_parameters(
        name="submitit",
        nodes=1,
        gpus_per_node=1,
        timeout_min=60,
        slurm_account=sys.argv[1] if len(sys.argv) > 1 else None,
        slurm_additional_parameters={"phase": "train", "tier": "scavenge"},
    )
    job = executor.submit(Training(os.path.abspath("submitit.state"), 600))
    print(job.job_id)


if __name__ == "__main__":
    main()
