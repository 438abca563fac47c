"""torchrun with static rendezvous: four agents, started in any order, number as the plan does."""

import os
import signal
import socket
import subprocess
import time

from tests.export.plans import contiguous
from tests.interop.tools import need

CHECK = (
    "planner check {plan} && "
    "echo seat $RANK $(hostname) $LOCAL_RANK $WORLD_SIZE $CUDA_VISIBLE_DEVICES"
)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def start_agents(folder, environ, remote_shell, order):
    """One agent a host, in the order given; their exit codes and all they printed.

    Agents whose own workers succeed would wait minutes for those that failed: they are ended.
    """
    need("torch")
    environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    check = CHECK.format(plan=folder / "plan.json")
    agents, printed = [], folder / "printed"
    with printed.open("w") as out:
        for host in order:
            command = [remote_shell, host, f"{folder}/torchrun --no-python sh -c '{check}'"]
            agent = subprocess.Popen(
                command, env=environ, stdout=out, stderr=out, start_new_session=True
            )
            agents.append(agent)
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        codes = [agent.poll() for agent in agents]
        if None not in codes or sum(code not in (None, 0) for code in codes) == 2:
            break
        time.sleep(0.2)
    for agent in agents:
        if agent.poll() is None:
            os.killpg(agent.pid, signal.SIGKILL)
        agent.wait(timeout=60)
    return codes, printed.read_text()


def test_agents_started_backwards_number_as_planned(exported, environ, remote_shell):
    plan = contiguous()
    script = exported(plan, "torchrun")
    order = list(reversed(plan.hosts))
    codes, printed = start_agents(script.parent, environ, remote_shell, order)
    assert codes == [0] * 4, printed
    lines = [line.split()[1:] for line in printed.splitlines() if line.startswith("seat ")]
    devices = {"n3": "0,1", "n4": "0,1", "n1": "1,0", "n2": "1,0"}
    assert sorted(lines, key=lambda words: int(words[0])) == [
        [str(r["rank"]), r["host"], str(r["local_rank"]), "8", devices[r["host"]]]
        for r in plan.document()["ranks"]
    ]


def test_nodes_that_changed_places_are_named_with_their_ranks(exported, environ, remote_shell):
    script = exported(contiguous(), "torchrun")
    text = script.read_text()
    for old, new in (("n4|n4.*)", "TAKEN)"), ("n1|n1.*)", "n4|n4.*)"), ("TAKEN)", "n1|n1.*)")):
        assert old in text
        text = text.replace(old, new)
    script.write_text(text)
    order = ["n3", "n1", "n4", "n2"]
    codes, printed = start_agents(script.parent, environ, remote_shell, order)
    assert [code not in (None, 0) for code in codes] == [False, True, True, False], printed
    # A first failure ends an agent's other worker, so one of the two ranks of a node is enough.
    assert any(f"rank {rank}: host is n1, the plan says n4" in printed for rank in (2, 3))
    assert any(f"rank {rank}: host is n4, the plan says n1" in printed for rank in (4, 5))
