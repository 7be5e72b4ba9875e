package org.benchtop.scsi.target;

import java.util.Arrays;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiCompletion;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.jspecify.annotations.Nullable;

/** One event loop's way to a target. */
final class TargetPort implements ScsiPort {
    private final Target target;
    private final EventLoop loop;
    private final Doorbell doorbell;
    /** What other loops have for this one: tasks that may go on, task management that is done. */
    private final Queue<Runnable> ready = new ConcurrentLinkedQueue<>();

    private @Nullable UnitPort[] units = {};
    /** Those of {@link #units} that are there. */
    private UnitPort[] opened = {};

    private Task[] free = {};
    private int freeCount;

    TargetPort(Target target, EventLoop loop) {
        this.target = target;
        this.loop = loop;
        this.doorbell = loop.doorbell(target.name(), this::turn);
    }

    Target target() {
        return target;
    }

    /** Runs something on this port's loop, soon. Any thread. */
    void later(Runnable what) {
        ready.add(what);
        doorbell.ring();
    }

    private void turn() {
        boolean any = false;
        for (Runnable next = ready.poll(); next != null; next = ready.poll()) {
            next.run();
            any = true;
        }
        if (any) {
            kick();
        }
    }

    /** The way to a logical unit; null if there is none. */
    private @Nullable UnitPort unit(int lun) {
        LogicalUnit unit = target.unit(lun);
        if (unit == null) {
            return null;
        }
        if (lun >= units.length) {
            units = Arrays.copyOf(units, lun + 1);
        }
        UnitPort known = units[lun];
        if (known == null || known.unit() != unit) {
            known = unit.open(loop);
            units[lun] = known;
            opened = Arrays.stream(units).filter(Objects::nonNull).toArray(UnitPort[]::new);
        }
        return known;
    }

    @Override
    public void prepare(ScsiCommand command) {
        LogicalUnit unit = target.unit(command.lun());
        if (unit == null) {
            target.absent().prepare(command);
        } else {
            unit.prepare(command);
        }
    }

    @Override
    public void execute(ScsiCommand command, ScsiCompletion completion) {
        UnitPort unit = unit(command.lun());
        if (unit == null) {
            unit = target.absent().open(loop);
        }
        Task task = freeCount > 0 ? free[--freeCount] : new Task(this);
        task.begin(command, completion, unit);
        unit.unit().enter(task);
    }

    void release(Task task) {
        if (freeCount == free.length) {
            free = Arrays.copyOf(free, Math.max(8, free.length * 2));
        }
        free[freeCount++] = task;
    }

    @Override
    public void kick() {
        for (UnitPort unit : opened) {
            unit.kick();
        }
    }

    @Override
    public void manage(ScsiTaskManagement function, int lun, long tag, int initiator, Done done) {
        switch (function) {
            case ABORT_TASK,
                    ABORT_TASK_SET,
                    CLEAR_TASK_SET,
                    CLEAR_ACA,
                    LOGICAL_UNIT_RESET,
                    QUERY_TASK,
                    QUERY_TASK_SET -> {
                LogicalUnit unit = target.unit(lun);
                if (unit == null) {
                    done.done(ScsiTaskManagement.Result.INCORRECT_LUN);
                } else {
                    unit.manage(this, function, tag, initiator, done);
                }
            }
            case I_T_NEXUS_RESET, TARGET_RESET, BUS_RESET -> target.manage(this, function, initiator, done);
        }
        turn();
    }

    @Override
    public void drain() {
        for (UnitPort unit : opened) {
            unit.drain();
        }
    }

    @Override
    public void close() {
        doorbell.close();
    }
}
