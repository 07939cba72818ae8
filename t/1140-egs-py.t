#!/bin/bash
# 1140-egs-py.t - egs.py: the verbs of a job for Python, with and without torch
. "$(dirname "$0")/lib/sh/tree.sh"
# shellcheck source=t/lib/sh/job_messages.sh
. "$srcdir/t/lib/sh/job_messages.sh"

if ! command -v python3 >/dev/null; then
	echo '1..0 # SKIP no python3'
	exit
fi
unset SLURM_STEP_ID SLURM_PROCID SLURM_RESTART_COUNT EGS_RUNDIR SLURM_JOB_ID
export PYTHONPATH=$srcdir/libegs PYTHONDONTWRITEBYTECODE=1

# py WORDS: the program on stdin ends well; TAP comments are what it says.
py()
{
	cat >program.py
	does "$1" timeout 60 python3 program.py
}

py 'egs.py without EGS returns False or raises egs.Error' <<'END'
import egs
assert egs.should_yield() is False
assert egs.request() is None
assert egs.wait_request(0) is None
assert egs.saved() is False and egs.finished() is False
for call in egs.yield_, egs.phase:
    try:
        call()
        assert False
    except egs.Error as why:
        assert str(why) == "no EGS here: EGS_RUNDIR is not set"
END

make_rundir
cat >job/answer <<'END'
{"ok":true,"phase":"infer","export:EGS_PHASE":"infer","export:LD_PRELOAD":"x","export:SLURM_GPUS":"1","reexport:SLURM_NNODES":"1","reexport:SLURM_NODELIST":"n1"}
END

py 'egs.py has all verbs' <<'END'
import os, pathlib
import egs
assert egs.saved(pathlib.Path("/c/p.pt"), step=3) is True
os.environ["SLURM_RESTART_COUNT"] = "2"
egs.saved()
egs.yield_("last.pt")
os.environ.update(SLURM_STEP_ID="0", SLURM_PROCID="4")
egs.yield_()
egs.finished()
egs.progress(0.4)
os.environ["SLURM_NNODES"] = "2"
assert egs.phase("Inference") == "infer"
assert os.environ["EGS_PHASE"] == "infer"
assert "LD_PRELOAD" not in os.environ
assert os.environ["SLURM_GPUS"] == os.environ["SLURM_NNODES"] == "1"
assert "SLURM_NODELIST" not in os.environ
try:
    egs.progress(2)
    assert False
except egs.Error as why:
    assert str(why) == "2 is not from 0 to 1"
END
received 'egs.py sends the messages of the command egs' <<'END'
{"verb": "saved", "job": "7", "restarts": 0, "path": "/c/p.pt", "step": 3}
{"verb": "saved", "job": "7", "restarts": 2}
{"verb": "yield", "job": "7", "restarts": 2, "path": "last.pt"}
{"verb": "yield", "job": "7", "restarts": 2, "rank": 4}
{"verb": "finished", "job": "7", "restarts": 2}
{"verb": "progress", "job": "7", "restarts": 2, "ppm": 400000}
{"verb": "phase", "job": "7", "restarts": 2, "phase": "Inference"}
END

sed -n '/^static bool is_exportable/,/^}/p' "$srcdir/cmd/egs/phase.c" |
	grep -o '"[A-Z_]*"' | tr -d '"' | sort >names
py 'egs.py and the command egs set the same variables' <<'END'
import egs
with open("names") as f:
    assert sorted(egs._EXPORTS) == f.read().split()
END

py 'egs.py sees a notice at once in the flag file' <<'END'
import struct
import egs
def ask(n):
    with open("job/flag", "r+b") as f:
        f.write(struct.pack("=8sIIqI36x", b"egsflag1", n, 1, 5000, 0))
assert not egs.should_yield()
ask(17)
assert egs.should_yield()
assert egs.wait_request() == {"request": 17, "kind": "yield",
                              "deadline": 5000, "gpus": 0}
egs.yield_()
ask(0)
assert not egs.should_yield()
END
received 'egs.yield_() sends the number of the notice' <<'END'
{"verb": "yield", "job": "7", "restarts": 0, "request": 17}
END

echo '{"error":"job 7 is not yours"}' >job/answer
py 'egs.py raises on a refusal, but saved() and progress() only print it' <<'END'
import contextlib, io
import egs
try:
    egs.phase("eval")
    assert False
except egs.Error as why:
    assert str(why) == "job 7 is not yours"
said = io.StringIO()
with contextlib.redirect_stderr(said):
    assert egs.saved() is False and egs.progress(1) is False
assert said.getvalue() == "egs: saved: job 7 is not yours\n"
END
rm -f job/asked
echo '{"ok":true}' >job/answer

# A stand-in for torch that records its calls; OTHER is the flag of another rank.
mkdir torch
cat >torch/__init__.py <<'END'
from . import distributed
class tensor:
    def __init__(self, values, device):
        self.values, self.device = values, device
    def item(self):
        return self.values[0]
END
cat >torch/distributed.py <<'END'
import os
calls = []
class ReduceOp:
    MAX = "max"
def is_available():
    return True
def is_initialized():
    return "RANK" in os.environ
def get_rank():
    return int(os.environ["RANK"])
def get_backend():
    return os.environ["BACKEND"]
def barrier():
    calls.append("barrier, %d messages" % len(os.listdir("job/out")))
def all_reduce(tensor, op):
    calls.append("reduce %s on %s" % (op, tensor.device))
    tensor.values[0] = max(tensor.values[0], int(os.environ.get("OTHER", 0)))
END
export PYTHONPATH=$PYTHONPATH:$tmp
py 'egs.yield_() ignores a torch that is not initialised' <<'END'
import egs, torch
assert not egs.should_yield()
egs.yield_()
assert torch.distributed.calls == []
END
received 'egs.yield_() without torch.distributed sends one yield' <<<'{"verb": "yield", "job": "7", "restarts": 0}'
RANK=0 BACKEND=nccl py 'egs.yield_() of rank 0 waits until all ranks have saved' <<'END'
import os, egs, torch
assert not egs.should_yield()
os.environ["OTHER"] = "1"
assert egs.should_yield()
egs.yield_("p")
assert torch.distributed.calls == ["reduce max on cuda"] * 2 + \
    ["barrier, 0 messages"], torch.distributed.calls
END
received 'egs.yield_() of rank 0 sends one yield for all ranks' <<'END'
{"verb": "yield", "job": "7", "restarts": 0, "path": "p"}
END
RANK=1 BACKEND=gloo py 'egs.yield_() of rank 1 only joins the barrier' <<'END'
import egs, torch
assert not egs.should_yield()
egs.yield_("p")
assert torch.distributed.calls == ["reduce max on cpu", "barrier, 0 messages"]
END
does 'egs.yield_() of rank 1 sends no message' test ! -e job/asked

done_testing
