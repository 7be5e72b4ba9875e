package org.benchtop.ide.piix;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.benchtop.ide.DriveSlots;
import org.benchtop.ide.IrqOutput;
import org.benchtop.ide.drive.AtaDevice;
import org.benchtop.ide.drive.DriveQueue;
import org.benchtop.ide.drive.TaskFile;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.stats.Stats;
import org.jspecify.annotations.Nullable;

/**
 * A cable with up to two drives, its command and control registers, and its bus-master engine. One lock guards all of it
 * and is not held while anything outside is called.
 */
final class IdeChannel implements DriveQueue.Owner {
    private static final int CONTROL_DISABLE_INTERRUPT = 0x02;
    private static final int CONTROL_RESET = 0x04;
    private static final int CONTROL_HIGH_ORDER = 0x80;

    private static final int COMMAND_START = 0x01;
    private static final int COMMAND_TO_MEMORY = 0x08;
    private static final int STATUS_ACTIVE = 0x01;
    private static final int STATUS_ERROR = 0x02;
    private static final int STATUS_INTERRUPT = 0x04;
    private static final int STATUS_DRIVE_CAPABLE = 0x60;

    private final GuestMemory memory;
    private final BooleanSupplier busMaster;
    private final IrqOutput irq;
    private final ReentrantLock lock = new ReentrantLock();
    private final @Nullable AtaDevice[] devices = new AtaDevice[2];
    private final @Nullable DriveQueue[] queues = new DriveQueue[2];
    private final boolean[] pending = new boolean[2];
    private final RegisterMap<CommandRegister> commandTable;
    private final RegisterMap<BusMasterRegister> busMasterTable;

    private int selected;
    private int control;
    private boolean line;

    private int masterCommand;
    private int masterStatus;
    private long table;
    /** Started, and the table is not used up. */
    private boolean armed;
    /** The backend moves data. */
    private boolean moving;

    private int movingUnit;

    private PrdTable.Fit fit = PrdTable.Fit.EQUAL;

    IdeChannel(String name, GuestMemory memory, BooleanSupplier busMaster, IrqLine irq) {
        this.memory = memory;
        this.busMaster = busMaster;
        this.irq = new IrqOutput(irq);
        this.commandTable = new RegisterMap<>(name, CommandRegister.class, new CommandHandler());
        this.busMasterTable = new RegisterMap<>(name + "-busmaster", BusMasterRegister.class, new MasterHandler());
    }

    // Ports.

    /** The eight ports of the command block. */
    PioDevice commandBlock() {
        return new PioDevice() {
            @Override
            public long read(long offset, int size) {
                return offset == TaskFile.DATA ? readData(size) : commandTable.read(offset, size);
            }

            @Override
            public void write(long offset, int size, long value) {
                if (offset == TaskFile.DATA) {
                    writeData(size, value);
                } else {
                    commandTable.write(offset, size, value);
                }
            }
        };
    }

    /** The one port of the control block: alternate status and device control. */
    PioDevice controlBlock() {
        return new PioDevice() {
            @Override
            public long read(long offset, int size) {
                lock.lock();
                try {
                    return status();
                } finally {
                    lock.unlock();
                }
            }

            @Override
            public void write(long offset, int size, long value) {
                writeControl((int) value & 0xff);
            }
        };
    }

    /** The eight bus-master registers. */
    RegisterMap<BusMasterRegister> busMasterBlock() {
        return busMasterTable;
    }

    /** All tables, for inspection. */
    List<RegisterMap<?>> tables() {
        return List.of(commandTable, busMasterTable);
    }

    private @Nullable AtaDevice selectedDevice() {
        return devices[selected];
    }

    private long readData(int size) {
        long value;
        int wanting;
        lock.lock();
        try {
            AtaDevice device = selectedDevice();
            if (device == null) {
                return 0;
            }
            value = device.pioRead(size);
            wanting = settle();
        } finally {
            lock.unlock();
        }
        act(wanting);
        return value;
    }

    private void writeData(int size, long value) {
        int wanting;
        lock.lock();
        try {
            AtaDevice device = selectedDevice();
            if (device == null) {
                return;
            }
            device.pioWrite(size, value);
            wanting = settle();
        } finally {
            lock.unlock();
        }
        act(wanting);
    }

    /** The status of the selected drive; without one the channel reads as 0, as if pulled down. */
    private int status() {
        AtaDevice device = selectedDevice();
        if (device == null) {
            return 0;
        }
        return (control & CONTROL_RESET) != 0
                ? TaskFile.BSY
                : device.registers().status();
    }

    private final class CommandHandler implements RegisterMap.Handler<CommandRegister> {
        @Override
        public long peek(CommandRegister register) {
            lock.lock();
            try {
                AtaDevice device = selectedDevice();
                if (device == null) {
                    return 0;
                }
                return register == CommandRegister.STATUS
                        ? status()
                        : device.registers().read(register.offset(), (control & CONTROL_HIGH_ORDER) != 0);
            } finally {
                lock.unlock();
            }
        }

        @Override
        public long read(CommandRegister register) {
            if (register != CommandRegister.STATUS) {
                return peek(register);
            }
            long value;
            int wanting;
            lock.lock();
            try {
                value = status();
                pending[selected] = false;
                wanting = settle();
            } finally {
                lock.unlock();
            }
            act(wanting);
            return value;
        }

        @Override
        public void write(CommandRegister register, long value) {
            int wanting;
            lock.lock();
            try {
                if (register == CommandRegister.STATUS) {
                    command((int) value);
                } else {
                    writeRegister(register.offset(), (int) value);
                }
                wanting = settle();
            } finally {
                lock.unlock();
            }
            act(wanting);
        }
    }

    private void writeRegister(int register, int value) {
        AtaDevice current = selectedDevice();
        boolean busy = current != null && current.registers().busy();
        if (busy || (control & CONTROL_RESET) != 0) {
            return;
        }
        control &= ~CONTROL_HIGH_ORDER;
        for (AtaDevice device : devices) {
            if (device != null) {
                device.registers().write(register, value);
            }
        }
        if (register == TaskFile.DEVICE) {
            selected = (value & TaskFile.DEV) != 0 ? 1 : 0;
        }
    }

    private void command(int command) {
        if ((control & CONTROL_RESET) != 0) {
            return;
        }
        control &= ~CONTROL_HIGH_ORDER;
        AtaDevice device = selectedDevice();
        boolean diagnostic = command == AtaDevice.EXECUTE_DEVICE_DIAGNOSTIC;
        if (!diagnostic) {
            if (device != null) {
                pending[selected] = false;
                device.command(command);
            }
            return;
        }
        if (device != null && device.registers().busy()) {
            return;
        }
        // Both drives execute it, and the first one answers for both.
        for (int i = 0; i < devices.length; i++) {
            AtaDevice each = devices[i];
            if (each != null) {
                each.command(command);
                pending[i] = i == 0 && each.takeInterrupt();
                each.takeInterrupt();
            }
        }
        selected = 0;
    }

    private void writeControl(int value) {
        int wanting;
        lock.lock();
        try {
            boolean reset = (value & CONTROL_RESET) != 0 && (control & CONTROL_RESET) == 0;
            control = value & (CONTROL_DISABLE_INTERRUPT | CONTROL_RESET | CONTROL_HIGH_ORDER);
            if (reset) {
                selected = 0;
                resetDevices(false);
            }
            wanting = settle();
        } finally {
            lock.unlock();
        }
        act(wanting);
    }

    private void resetDevices(boolean powerOn) {
        armed = false;
        fit = PrdTable.Fit.EQUAL;
        masterStatus &= ~STATUS_ACTIVE | (moving ? STATUS_ACTIVE : 0);
        for (int i = 0; i < devices.length; i++) {
            pending[i] = false;
            AtaDevice device = devices[i];
            if (device != null) {
                device.reset(powerOn);
            }
        }
    }

    // The bus master.

    private final class MasterHandler implements RegisterMap.Handler<BusMasterRegister> {
        @Override
        public long peek(BusMasterRegister register) {
            lock.lock();
            try {
                return switch (register) {
                    case COMMAND -> masterCommand;
                    case STATUS -> masterStatus;
                    case TABLE -> table;
                };
            } finally {
                lock.unlock();
            }
        }

        @Override
        public long read(BusMasterRegister register) {
            return peek(register);
        }

        @Override
        public void write(BusMasterRegister register, long value) {
            int wanting;
            lock.lock();
            try {
                switch (register) {
                    case COMMAND -> masterCommand((int) value);
                    case STATUS -> {
                        int cleared = (int) value & (STATUS_ERROR | STATUS_INTERRUPT);
                        masterStatus =
                                masterStatus & ~(cleared | STATUS_DRIVE_CAPABLE) | (int) value & STATUS_DRIVE_CAPABLE;
                    }
                    case TABLE -> table = value & 0xffff_fffcL;
                }
                wanting = settle();
            } finally {
                lock.unlock();
            }
            act(wanting);
        }
    }

    private void masterCommand(int value) {
        boolean start = (value & COMMAND_START) != 0;
        boolean started = (masterCommand & COMMAND_START) != 0;
        masterCommand = value & (COMMAND_START | COMMAND_TO_MEMORY);
        if (start && !started) {
            armed = !moving;
            masterStatus |= STATUS_ACTIVE;
        } else if (!start && started) {
            armed = false;
            fit = PrdTable.Fit.EQUAL;
            if (!moving) {
                masterStatus &= ~STATUS_ACTIVE;
            }
        }
    }

    private static boolean wantsDma(AtaDevice device) {
        return device.phase() == AtaDevice.Phase.DMA_IN || device.phase() == AtaDevice.Phase.DMA_OUT;
    }

    private void startDma(AtaDevice device) {
        armed = false;
        boolean toMemory = device.phase() == AtaDevice.Phase.DMA_IN;
        device.dmaMemory().clear();
        try {
            if (!busMaster.getAsBoolean()) {
                throw new GuestFault(table, 0);
            }
            fit = PrdTable.collect(memory, table, device.dmaBytes(), device.dmaMemory());
        } catch (GuestFault e) {
            // A master or target abort: the transfer ends, and the drive's command with it.
            fit = PrdTable.Fit.EQUAL;
            masterStatus = masterStatus & ~STATUS_ACTIVE | STATUS_ERROR;
            device.dmaFailed();
            return;
        }
        long moved = device.dma();
        if (device.phase() == AtaDevice.Phase.WORKING && !device.quiet()) {
            moving = true;
            return;
        }
        if (toMemory && moved > 0) {
            memory.written(device.dmaMemory());
        }
        endDma();
    }

    private void endDma() {
        moving = false;
        boolean goesOn = fit == PrdTable.Fit.LONGER && (masterCommand & COMMAND_START) != 0;
        if (!goesOn) {
            masterStatus &= ~STATUS_ACTIVE;
        }
    }

    /** Brings everything in line after a change, with the lock held; returns which drives want their backends. */
    private int settle() {
        int wanting = 0;
        for (int i = 0; i < devices.length; i++) {
            AtaDevice device = devices[i];
            if (device == null) {
                continue;
            }
            if (moving && i == movingUnit && device.phase() != AtaDevice.Phase.WORKING) {
                endDma();
            }
            if (armed && wantsDma(device)) {
                movingUnit = i;
                startDma(device);
            }
            if (device.takeInterrupt()) {
                pending[i] = true;
            }
            wanting |= device.hasTransfer() ? 1 << i : 0;
        }
        boolean asserted = pending[selected]
                && devices[selected] != null
                && (control & (CONTROL_DISABLE_INTERRUPT | CONTROL_RESET)) == 0;
        if (asserted && !line) {
            masterStatus |= STATUS_INTERRUPT;
        }
        line = asserted;
        irq.want(asserted);
        return wanting;
    }

    /** Does outside what {@link #settle} has left to do; without the lock. */
    private void act(int wanting) {
        irq.publish();
        for (int i = 0; wanting != 0 && i < queues.length; i++) {
            DriveQueue queue = queues[i];
            if (queue != null && (wanting >>> i & 1) != 0) {
                queue.kick();
            }
        }
    }

    @Override
    public void changed(AtaDevice device) {
        settle();
    }

    @Override
    public void publish() {
        irq.publish();
    }

    // Drives.

    boolean free(int unit) {
        lock.lock();
        try {
            return devices[unit] == null;
        } finally {
            lock.unlock();
        }
    }

    DriveSlots.Plug plug(int unit, AtaDevice device, Optional<DriveSlots.Medium> medium, EventLoop loop, Stats stats) {
        DriveQueue queue = medium.map(each -> new DriveQueue(device, each, loop, lock, memory, this, stats))
                .orElse(null);
        lock.lock();
        try {
            devices[unit] = device;
            queues[unit] = queue;
        } finally {
            lock.unlock();
        }
        return new Place(unit, device, Optional.ofNullable(queue));
    }

    private final class Place implements DriveSlots.Plug {
        private final int unit;
        private final AtaDevice device;
        private final Optional<DriveQueue> queue;

        Place(int unit, AtaDevice device, Optional<DriveQueue> queue) {
            this.unit = unit;
            this.device = device;
            this.queue = queue;
        }

        @Override
        public void reset() {
            locked(() -> device.reset(true));
            queue.ifPresent(DriveQueue::awaitQuiet);
        }

        @Override
        public void pause() {
            queue.ifPresent(DriveQueue::awaitQuiet);
        }

        @Override
        public void resume() {
            queue.ifPresent(DriveQueue::retry);
        }

        @Override
        public void locked(Runnable action) {
            lock.lock();
            try {
                action.run();
                settle();
            } finally {
                lock.unlock();
            }
            irq.publish();
        }

        @Override
        public void close() {
            queue.ifPresent(DriveQueue::close);
            lock.lock();
            try {
                devices[unit] = null;
                queues[unit] = null;
                pending[unit] = false;
                settle();
            } finally {
                lock.unlock();
            }
            irq.publish();
        }
    }

    // Life.

    /** Power-on state; waits for what is in flight. */
    void reset() {
        lock.lock();
        try {
            control = 0;
            selected = 0;
            masterCommand = 0;
            masterStatus = 0;
            table = 0;
            resetDevices(true);
            settle();
        } finally {
            lock.unlock();
        }
        awaitQuiet();
        irq.publish();
    }

    /** Waits until no drive wants anything of its backend. */
    void awaitQuiet() {
        for (DriveQueue queue : List.copyOf(present())) {
            queue.awaitQuiet();
        }
    }

    private List<DriveQueue> present() {
        List<DriveQueue> present = new ArrayList<>();
        lock.lock();
        try {
            for (DriveQueue queue : queues) {
                if (queue != null) {
                    present.add(queue);
                }
            }
        } finally {
            lock.unlock();
        }
        return present;
    }

    /** Saved state of a channel without its drives. */
    record State(
            int selected,
            int control,
            boolean pending0,
            boolean pending1,
            boolean line,
            int masterCommand,
            int masterStatus,
            int table,
            boolean armed,
            PrdTable.Fit fit) {}

    State save() {
        lock.lock();
        try {
            return new State(
                    selected,
                    control,
                    pending[0],
                    pending[1],
                    line,
                    masterCommand,
                    masterStatus,
                    (int) table,
                    armed,
                    fit);
        } finally {
            lock.unlock();
        }
    }

    void restore(State state) {
        lock.lock();
        try {
            selected = state.selected & 1;
            control = state.control;
            pending[0] = state.pending0;
            pending[1] = state.pending1;
            line = state.line;
            masterCommand = state.masterCommand & (COMMAND_START | COMMAND_TO_MEMORY);
            masterStatus = state.masterStatus & 0x67;
            table = Integer.toUnsignedLong(state.table) & 0xffff_fffcL;
            armed = state.armed;
            fit = state.fit;
            moving = false;
            irq.want(line);
        } finally {
            lock.unlock();
        }
        irq.publish();
    }

    Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        lock.lock();
        try {
            map.put("selected", selected);
            map.put("interrupt", line);
            map.put("dma", moving ? "moving" : armed ? "armed" : "idle");
            for (int i = 0; i < devices.length; i++) {
                AtaDevice device = devices[i];
                map.put("unit-" + i, device == null ? "empty" : device.id() + " " + device.phase());
            }
        } finally {
            lock.unlock();
        }
        return map;
    }
}
