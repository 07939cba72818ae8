# egs.py - messages of a Python program to EGS, in a job of Slurm
"""Messages of a program to EGS, while it runs in a job of Slurm.

    import egs

    for step in range(first, last):
        train(step)
        if step % 1000 == 0:
            save(path)
            egs.saved(path, step)
        if egs.should_yield():
            save(path)
            egs.yield_(path)
            sys.exit()
    egs.finished()

It needs only Python 3, and uses files in EGS_RUNDIR, also in a container that
has this directory.  Without EGS, should_yield() is False.  A report (saved,
finished, progress) never ends a program: if it was not delivered it returns
False, and the first one prints the reason to stderr.  The others raise
egs.Error.

If torch.distributed is initialised, should_yield() and yield_() are collective:
every rank calls them, in the same order.  Then all ranks yield in the same
step, and the job yields when all of them have saved.
"""
import json
import mmap
import os
import struct
import sys
import time

TIMEOUT_S = 10

# struct egs_rundir_flag: magic, notice, kind, deadline, gpus.
_FLAG = struct.Struct("=8sIIqI")
_FLAG_SIZE = 64
_MAGIC = b"egsflag1"
_SHRINK = 2
_MESSAGE_MAX = 4096
_LOOK_S = 0.02

_map = None
_tried = 0.0
_complained = False


class Error(Exception):
    """EGS refused the message, or did not answer."""


def _dir():
    path = os.environ.get("EGS_RUNDIR", "")
    return path if os.path.isdir(path) else None


def _flag():
    """(notice, kind, deadline, gpus), or None without a flag."""
    global _map, _tried

    if _map is None:
        now = time.monotonic()
        if _tried and now - _tried < 1:
            return None
        _tried = now
        try:
            with open(os.path.join(_dir() or "", "flag"), "rb") as f:
                _map = mmap.mmap(f.fileno(), _FLAG_SIZE,
                                 access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
    magic, request, kind, deadline, gpus = _FLAG.unpack_from(_map)
    if magic != _MAGIC:
        _map = None
        return None
    return request, kind, deadline, gpus


def _dist():
    """torch.distributed, if the program has initialised it."""
    torch = sys.modules.get("torch")
    dist = getattr(torch, "distributed", None)
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return None
    return dist


def _agree(dist, mine):
    """True on all ranks if it is True on any."""
    torch = sys.modules["torch"]
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    seen = torch.tensor([int(mine)], device=device)
    dist.all_reduce(seen, op=dist.ReduceOp.MAX)
    return bool(seen.item())


def request():
    """The notice: {"request", "kind", "deadline", "gpus"}, or None."""
    flag = _flag()
    if not flag or not flag[0]:
        return None
    return {"request": flag[0],
            "kind": "shrink" if flag[1] == _SHRINK else "yield",
            "deadline": flag[2], "gpus": flag[3]}


def should_yield():
    """Should the job save and yield?  Cheap: call it in every step."""
    flag = _flag()
    mine = bool(flag and flag[0] and flag[1] != _SHRINK)
    dist = _dist()
    return _agree(dist, mine) if dist else mine


def wait_request(timeout=None):
    """Wait for a notice; None when the time is over."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        asked = request()
        if asked or (end is not None and time.monotonic() >= end):
            return asked
        time.sleep(0.1)


def _number(name, otherwise):
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else otherwise


def _put(folder, name, text):
    hidden = os.path.join(folder, "." + name)
    fd = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, text)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(hidden, os.path.join(folder, name))


def _answer(path):
    try:
        with open(path, "rb") as f:
            text = f.read()
        os.unlink(path)
        return json.loads(text.decode("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise Error("invalid answer from egs-noded") from None


def _take_back(path):
    try:
        os.unlink(path)
        return "the message was not delivered"
    except FileNotFoundError:
        return "egs-noded has the message and will deliver it"


def _ask(verb, report, **values):
    """Send a message and wait.  A report that is not read stays in out/."""
    folder = _dir()
    job = os.environ.get("SLURM_JOB_ID")
    if not folder or not job:
        raise Error("no EGS here: EGS_RUNDIR is not set")
    name = os.urandom(8).hex()
    message = {"verb": verb, "id": name, "job": job,
               "restarts": _number("SLURM_RESTART_COUNT", 0),
               "at": int(time.time())}
    message.update((k, v) for k, v in values.items() if v is not None)
    text = json.dumps(message, ensure_ascii=True).encode("ascii")
    if len(text) > _MESSAGE_MAX:
        raise Error("the message is longer than %d bytes" % _MESSAGE_MAX)
    try:
        _put(os.path.join(folder, "out"), name, text)
    except OSError as why:
        raise Error(str(why)) from None
    end = time.monotonic() + TIMEOUT_S
    while True:
        answer = _answer(os.path.join(folder, "in", name))
        if answer is not None:
            break
        if time.monotonic() >= end:
            raise Error("no answer; " + (
                "egs-noded will deliver the message" if report
                else _take_back(os.path.join(folder, "out", name))))
        time.sleep(_LOOK_S)
    if not answer.get("ok"):
        raise Error(answer.get("error", "invalid answer from egs-noded"))
    return answer


def _report(verb, **values):
    """Send a report.  True if it was delivered."""
    global _complained

    try:
        _ask(verb, True, **values)
        return True
    except Error as why:
        if not _complained and _dir():
            print("egs: %s: %s" % (verb, why), file=sys.stderr)
            _complained = True
        return False


def saved(path=None, step=None):
    """Report that a checkpoint is complete.  The job keeps its GPUs."""
    return _report("saved", path=_text(path), step=step)


def _text(path):
    return None if path is None else os.fspath(path)


def _yield_now(path, rank):
    asked = request()
    _ask("yield", False, path=_text(path), rank=rank,
         request=asked["request"] if asked else None)


def yield_(path=None):
    """Yield: the whole job has saved, and its GPUs can be taken now.

    With torch.distributed each rank calls it when it has saved its part.  The
    first rank yields when all of them have.
    """
    dist = _dist()
    if not dist:
        in_step = "SLURM_STEP_ID" in os.environ
        _yield_now(path, _number("SLURM_PROCID", None) if in_step else None)
        return
    dist.barrier()
    if dist.get_rank() == 0:
        # Without a rank: the barrier has counted the ranks.
        _yield_now(path, None)


def finished():
    """Report that the work is done: the job is not requeued when it exits."""
    return _report("finished")


def progress(done):
    """Report how much of the work is done, from 0 to 1."""
    if not 0 <= done <= 1:
        raise Error("%g is not from 0 to 1" % done)
    return _report("progress", ppm=int(done * 1000000 + 0.5))


# Variables that an answer may set; names such as PATH never come from one.
_EXPORTS = ("EGS_PHASE", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
            "ROCR_VISIBLE_DEVICES", "SLURM_CPUS_ON_NODE",
            "SLURM_CPUS_PER_TASK", "SLURM_GPUS", "SLURM_GPUS_ON_NODE",
            "SLURM_GPUS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE",
            "SLURM_JOB_GPUS", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES",
            "SLURM_MEM_PER_NODE", "SLURM_NNODES", "SLURM_NODELIST",
            "SLURM_TRES_PER_TASK")


def _set_variables(answer):
    for name in _EXPORTS:
        if "export:" + name in answer:
            os.environ[name] = str(answer["export:" + name])
        elif "reexport:" + name in answer and name in os.environ:
            os.environ[name] = str(answer["reexport:" + name])


def phase(name=None):
    """Enter another phase, without waiting for GPUs.  Returns its name.

    Without a name it returns the present phase.
    """
    answer = _ask("phase", False, phase=name)
    _set_variables(answer)
    return answer.get("phase") or None
