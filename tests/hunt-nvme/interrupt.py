# SPDX-License-Identifier: GPL-2.0-or-later
"""What comes between commands: time, aborts, resets, shutdown, controllers that are pulled out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from model import Wrong
from nvme import Admin
from pci import FUNCTION_RESET, Function
from setup import FUNCTIONS, SLOT, controller
from test_interruptions import EJECT

if TYPE_CHECKING:
    from sequence import Hunt, Pending

CC, CSTS = 0x14, 0x1C
READY, FATAL = 1, 2
CUT_POWER = 3
FLASH = "/machine/peripheral/f0"
ENABLED = 0x00460061
SHUTDOWN_STATE = 3 << 2
SHUTDOWN_DONE = 2 << 2
LOOKS = 20_000


def step(hunt: Hunt) -> None:
    if hunt.setup.realtime:
        time.sleep(hunt.pick.choice((0, 0.0002)))
    else:
        now = hunt.machine.step(hunt.pick.choice((1, 5000, 200_000)))
        hunt.digest.update(str(now).encode())


def abort(hunt: Hunt, victim: Pending | None = None) -> None:
    if hunt.pending:
        victim = victim or hunt.pick.choice(hunt.pending)
        victim.aborted = True
        victim.queue.ctrl.check(Admin.ABORT, cdw=(victim.cid << 16 | victim.queue.qid,))


def odd_abort(hunt: Hunt) -> None:
    """Of a queue or a command that is not."""
    cdw = hunt.pick.choice((60, 0xFFFF, hunt.pick.randrange(1 << 32) | 0x8000))
    hunt.any_controller().command(Admin.ABORT, cdw=(cdw,))


def there(hunt: Hunt) -> int:
    """The number of a controller that is there."""
    return hunt.pick.choice([index for index, each in enumerate(hunt.ctrls) if each])


def lose_functions(hunt: Hunt, index: int) -> None:
    """Virtual functions do not outlive a reset of the physical one."""
    if hunt.setup.place == "functions" and index == 0:
        for number in range(1, FUNCTIONS + 1):
            ctrl = hunt.ctrls[number]
            # It has failed, or its registers are gone, and read as zeroes.
            if ctrl and hunt.machine.readl(ctrl.bar + CSTS) & READY:
                raise Wrong(f"function {number} outlives a reset of the physical one")
            hunt.lose(number)
            hunt.ctrls[number] = None
            hunt.queues[number] = []


def reset(hunt: Hunt) -> None:
    index = there(hunt)
    ctrl = hunt.ctrls[index]
    assert ctrl
    ctrl.disable()
    lose_functions(hunt, index)
    hunt.lose(index)
    if hunt.machine.readl(ctrl.bar + CSTS) & SHUTDOWN_STATE:
        raise Wrong("a reset leaves the state of a shutdown")
    ctrl.enable()
    hunt.renew(index)


def reset_function(hunt: Hunt) -> None:
    index = 0 if hunt.setup.place == "functions" else there(hunt)
    if hunt.setup.place == "removable":
        reset(hunt)
        return
    hunt.wait_for_cmb(index)
    target = Function(hunt.machine, SLOT + index)
    at = target.device_control() - target.config
    target.write(at, target.read(at) | FUNCTION_RESET)
    lose_functions(hunt, index)
    hunt.lose(index)
    hunt.make(index)


def delete_queue(hunt: Hunt) -> None:
    index = there(hunt)
    ctrl = hunt.ctrls[index]
    assert ctrl
    for queue in hunt.queues[index]:
        ctrl.check(Admin.DELETE_SQ, cdw=(queue.qid,))
    hunt.lose(index)
    for queue in hunt.queues[index]:
        ctrl.check(Admin.DELETE_CQ, cdw=(queue.qid,))
    ctrl.queues.clear()
    hunt.renew(index)


def pull(hunt: Hunt) -> None:
    """A controller goes with commands in flight; the same one comes again."""
    index = there(hunt)
    hunt.wait_for_cmb(index)
    hunt.machine.settle()
    hunt.machine.qmp("device_del", id=f"nvme{index}")
    hunt.machine.outl(EJECT, 1 << SLOT + index)
    hunt.machine.wait_until(
        lambda: f"nvme{index}" not in hunt.machine.peripherals(), f"controller {index} gone"
    )
    hunt.lose(index)
    if hunt.pick.random() < 0.5:
        step(hunt)
    said: dict[str, object] = dict(controller(hunt.setup, index))
    if "cmb_size_mb" in said:
        said |= {"cmb_size_mb": 1, "legacy-cmb": said["legacy-cmb"] == "on"}
    if "ioeventfd" in said:
        said["ioeventfd"] = True
    hunt.machine.qmp("device_add", **said)
    hunt.make(index)


def cut_now(hunt: Hunt) -> None:
    """By QMP, or by a command of any controller's, which never ends."""
    if hunt.pick.random() < 0.5 or not all(hunt.ctrls):
        hunt.machine.qmp("qom-set", path=FLASH, property="power", value="cut")
        return
    before = hunt.machine.stats()["power_cuts"]
    hunt.any_controller().admin.submit(Admin.FLASH, cdw=(CUT_POWER,))
    for _ in range(LOOKS):
        if hunt.machine.stats()["power_cuts"] > before:
            return
        # On the host's clock, too: the cut has a timer of the machine's.
        hunt.machine.step(1000)
    raise Wrong("a command cuts the power, and nothing happens")


def cut(hunt: Hunt) -> None:
    """All controllers come up anew; sometimes once more before they do."""
    enabled = [ctrl for ctrl in hunt.ctrls if ctrl and not hunt.is_virtual(ctrl)]
    cut_now(hunt)
    if any(hunt.machine.readl(ctrl.bar + CSTS) != FATAL for ctrl in enabled):
        raise Wrong("the power was cut, and a controller does not say so")
    for index, ctrl in enumerate(hunt.ctrls):
        if ctrl:
            hunt.lose(index)
    lose_functions(hunt, 0)
    again = hunt.pick.choice((0, 0, 1, 2))
    for _ in hunt.machine.looks() if hunt.setup.realtime else range(LOOKS):
        if hunt.machine.qmp("qom-get", path=FLASH, property="power") == "on":
            break
        if again:
            again -= 1
            hunt.machine.qmp("qom-set", path=FLASH, property="power", value="cut")
        if not hunt.setup.realtime:
            hunt.machine.step(hunt.pick.choice((1, 5000, 200_000)))
    else:
        raise Wrong("the drive does not recover")
    for index in range(hunt.setup.controllers):
        hunt.make(index)


def state(hunt: Hunt, bar: int) -> int:
    return hunt.machine.readl(bar + CSTS) & SHUTDOWN_STATE


def notify_again(hunt: Hunt, bar: int) -> None:
    """Of either kind, and as often as not of the other: it goes on, or it stays complete."""
    before = state(hunt, bar)
    hunt.machine.writel(bar + CC, ENABLED | hunt.pick.choice((1, 2)) << 14)
    if state(hunt, bar) < before:
        raise Wrong("a shutdown was notified twice, and goes back")


def take_back(hunt: Hunt, bar: int) -> None:
    """The host has thought better of it."""
    hunt.machine.writel(bar + CC, ENABLED)
    if state(hunt, bar):
        raise Wrong("no shutdown is notified, and there is one")


def shutdown(hunt: Hunt) -> None:
    """Normal or abrupt, with commands in flight; to its end, notified again, or reset meanwhile."""
    index = there(hunt)
    ctrl = hunt.ctrls[index]
    assert ctrl
    how = hunt.pick.choice((1, 2)) << 14
    hunt.machine.writel(ctrl.bar + CC, ENABLED | how)
    if hunt.pick.random() < 0.4:
        step(hunt)
    if state(hunt, ctrl.bar) == 0:
        raise Wrong("a shutdown was notified, and there is none")
    if hunt.pick.random() < 0.3:
        notify_again(hunt, ctrl.bar)
    if hunt.pick.random() < 0.3:
        take_back(hunt, ctrl.bar)
        if hunt.pick.random() < 0.5:
            # If it went on, it would be seen when the controller is used.
            return
        hunt.machine.writel(ctrl.bar + CC, ENABLED | how)
    if hunt.pick.random() < 0.5:
        for _ in hunt.machine.looks() if hunt.setup.realtime else range(LOOKS):
            if state(hunt, ctrl.bar) == SHUTDOWN_DONE:
                break
            if not hunt.setup.realtime:
                hunt.machine.step(100_000)
        else:
            raise Wrong("the controller does not shut down")
        if hunt.pick.random() < 0.5:
            notify_again(hunt, ctrl.bar)
        if hunt.pick.random() < 0.2:
            take_back(hunt, ctrl.bar)
            return
    if hunt.pick.random() < 0.5:
        # The notification stays where it is: the reset alone has to end it.
        hunt.machine.writel(ctrl.bar + CC, hunt.machine.readl(ctrl.bar + CC) & ~1)
    else:
        ctrl.disable()
    lose_functions(hunt, index)
    hunt.lose(index)
    if hunt.machine.readl(ctrl.bar + CSTS):
        raise Wrong("a reset leaves the state of a shutdown")
    for _ in range(hunt.pick.randint(0, 3)):
        step(hunt)
        if hunt.machine.readl(ctrl.bar + CSTS):
            raise Wrong("what was reset ends its shutdown")
    ctrl.enable()
    hunt.renew(index)


def format_namespace(hunt: Hunt) -> None:
    """It waits for what is in flight; what comes after it has ended finds zeroes."""
    ns = hunt.pick.randrange(hunt.setup.namespaces)
    some = [ns]
    nsid = ns + 1
    if hunt.pick.random() < 0.1 and not hunt.setup.zoned:
        some, nsid = list(range(hunt.setup.namespaces)), 0xFFFFFFFF
    kind = hunt.pick.choice((0, 1))
    if hunt.setup.events:
        # The controller has not looked at a queue yet whose event is on its way.
        for pending in [each for each in hunt.pending if each.ns in some]:
            hunt.wait(pending)
    hunt.any_controller().check(Admin.FORMAT, nsid, cdw=(kind,))
    for pending in [each for each in hunt.pending if each.ns in some]:
        # Those were before it, and so was what they read.
        pending.read = None
        pending.wanted = None
        hunt.wait(pending)
    for each in some:
        hunt.models[each].done(0, [{0}] * len(hunt.models[each].may_be))
        hunt.block[each] = (512, 4096)[kind]
