package org.benchtop.scsi.target;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTarget;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.jspecify.annotations.Nullable;

/** The logical units at one identifier of a bus. Any thread. */
public final class Target implements ScsiTarget {
    /** Numbers that the peripheral and flat addressing methods of a LUN can give (SAM-5, 4.7.7). */
    public static final int MAX_LUNS = 16384;

    private final String name;
    private final AbsentUnit absent;
    private volatile @Nullable LogicalUnit[] units = {};
    private final List<EventLoop> loops = new ArrayList<>();

    /** A target without logical units. */
    public Target(String name) {
        this.name = name;
        this.absent = new AbsentUnit(name);
    }

    String name() {
        return name;
    }

    /** The logical unit of a number; null if there is none. */
    @Nullable
    LogicalUnit unit(int lun) {
        @Nullable LogicalUnit[] now = units;
        return lun >= 0 && lun < now.length ? now[lun] : null;
    }

    /** What answers where no logical unit is. */
    LogicalUnit absent() {
        return absent;
    }

    /** Whether a number is free. */
    public boolean free(int lun) {
        return unit(lun) == null;
    }

    /** Adds a logical unit under a free number. The others tell their initiators. */
    public synchronized void add(int lun, LogicalUnit unit) {
        if (lun < 0 || lun >= MAX_LUNS || !free(lun)) {
            throw new IllegalArgumentException("LUN " + lun + " of " + name + " is taken or out of range");
        }
        @Nullable LogicalUnit[] next = Arrays.copyOf(units, Math.max(units.length, lun + 1));
        next[lun] = unit;
        loops.forEach(unit::open);
        units = next;
        lunsChanged(unit);
    }

    /** Takes a logical unit away. */
    public synchronized void remove(LogicalUnit unit) {
        @Nullable LogicalUnit[] next = units.clone();
        for (int i = 0; i < next.length; i++) {
            if (next[i] == unit) {
                next[i] = null;
            }
        }
        units = next;
        lunsChanged(unit);
    }

    private void lunsChanged(LogicalUnit except) {
        for (LogicalUnit unit : all()) {
            if (unit != except) {
                unit.attention(Sense.REPORTED_LUNS_CHANGED);
            }
        }
    }

    private List<LogicalUnit> all() {
        List<LogicalUnit> all = new ArrayList<>();
        for (LogicalUnit unit : units) {
            if (unit != null) {
                all.add(unit);
            }
        }
        return all;
    }

    @Override
    public synchronized ScsiPort open(EventLoop loop) {
        if (!loops.contains(loop)) {
            loops.add(loop);
        }
        all().forEach(unit -> unit.open(loop));
        return new TargetPort(this, loop);
    }

    @Override
    public List<Integer> luns() {
        List<Integer> numbers = new ArrayList<>();
        @Nullable LogicalUnit[] now = units;
        for (int i = 0; i < now.length; i++) {
            if (now[i] != null) {
                numbers.add(i);
            }
        }
        return numbers;
    }

    @Override
    public OptionalLong sizeBytes(int lun) {
        return unit(lun) instanceof DiskUnit disk ? OptionalLong.of(disk.sizeBytes()) : OptionalLong.empty();
    }

    /** Task management that concerns all logical units. On the port's loop. */
    void manage(TargetPort port, ScsiTaskManagement function, int initiator, ScsiPort.Done done) {
        List<LogicalUnit> all = all();
        java.util.concurrent.atomic.AtomicInteger left = new java.util.concurrent.atomic.AtomicInteger(all.size());
        if (all.isEmpty()) {
            done.done(ScsiTaskManagement.Result.COMPLETE);
            return;
        }
        for (LogicalUnit unit : all) {
            unit.manage(port, function, 0, initiator, result -> {
                if (left.decrementAndGet() == 0) {
                    done.done(ScsiTaskManagement.Result.COMPLETE);
                }
            });
        }
    }

    /** Answers REPORT LUNS (SPC-5, 6.33). */
    void reportLuns(Task task) {
        byte[] cdb = task.cdb();
        int select = Bytes.uint8(cdb, 2);
        if (select > 2) {
            task.invalidCdb(2);
            return;
        }
        List<Integer> luns = select == 1 ? List.of() : luns();
        boolean wellKnown = select != 0;
        int count = luns.size() + (wellKnown ? 1 : 0);
        byte[] data = new byte[8 + 8 * count];
        Bytes.int32(data, 0, 8 * count);
        int at = 8;
        for (int lun : luns) {
            Bytes.int16(data, at, lun < 256 ? lun : 0x4000 | lun);
            at += 8;
        }
        if (wellKnown) {
            Bytes.int16(data, at, ScsiCommand.REPORT_LUNS_WLUN);
        }
        task.reply(data, data.length, Bytes.uint32(cdb, 6));
    }
}
