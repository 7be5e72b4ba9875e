package org.benchtop.scsi.target;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.stats.Stats;

/** A CD/DVD drive (MMC-6) whose disc, if it has one, is a block backend with one data track. */
public final class CdUnit extends LogicalUnit {
    /** The size of a block. */
    public static final int BLOCK_BYTES = 2048;

    private static final int TYPE_CD = 5;
    private static final int CAPABILITIES = 0x2a;
    private static final int FRAMES_PER_SECOND = 75;
    private static final int LEAD_IN_FRAMES = 150;
    private static final int LEAD_OUT = 0xaa;
    /** A disc with more blocks than a CD can have is shown as a DVD. */
    private static final long CD_BLOCKS = 80L * 60 * FRAMES_PER_SECOND;

    private static final int PROFILE_DVD_ROM = 0x0010;
    private static final int PROFILE_CD_ROM = 0x0008;
    private static final int EVENT_EJECT_REQUEST = 1;
    private static final int EVENT_NEW_MEDIA = 2;
    private static final int EVENT_MEDIA_REMOVAL = 3;

    private final CdOptions options;
    private final Optional<BlockBackend> backend;
    private final Optional<ErrorHandling> errors;
    private final Stats stats;
    private final byte[] inquiry;
    private final ModePages pages;
    private final long discBlocks;

    private volatile boolean trayOpen;
    private int preventers;
    private int event;

    /** A drive after power-on, in no target yet; {@code errors} is there with a backend. */
    public CdUnit(
            String id, CdOptions options, Optional<BlockBackend> backend, Optional<ErrorHandling> errors, Stats stats) {
        super(id);
        this.options = options;
        this.backend = backend;
        this.errors = errors;
        this.stats = stats;
        this.discBlocks =
                backend.map(b -> b.capabilities().sizeBytes() / BLOCK_BYTES).orElse(0L);
        inquiry = DiskInquiry.standard(TYPE_CD, true, options.vendor(), options.product(), options.version());
        pages = new ModePages(
                ModePages.fixed(new byte[] {ModePages.ERROR_RECOVERY, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
                ModePages.fixed(capabilities()));
    }

    private static byte[] capabilities() {
        byte[] page = new byte[22];
        page[0] = CAPABILITIES;
        page[1] = 20;
        // Reads CD-R, CD-RW, DVD-ROM and DVD-R; tray with lock and eject.
        page[2] = 0x3b;
        page[4] = 0x70;
        page[6] = 0x29;
        Bytes.int16(page, 8, 706);
        Bytes.int16(page, 12, 512);
        Bytes.int16(page, 14, 706);
        return page;
    }

    private long blocks() {
        return trayOpen ? 0 : discBlocks;
    }

    @Override
    Operation.Unit kind() {
        return Operation.Unit.CD;
    }

    @Override
    int blockBytes() {
        return BLOCK_BYTES;
    }

    @Override
    UnitPort openPort(EventLoop loop) {
        return new UnitPort(this, loop, backend.orElse(null), stats);
    }

    @Override
    byte[] standardInquiry() {
        return inquiry;
    }

    @Override
    int[] vitalProductPages() {
        return new int[] {0, 0x80, 0x83};
    }

    @Override
    byte[] vitalProductData(int page) {
        return switch (page) {
            case 0x80 -> options.serial().getBytes(StandardCharsets.US_ASCII);
            case 0x83 -> DiskInquiry.identification(options.vendor(), options.serial(), options.wwn());
            default -> new byte[0];
        };
    }

    @Override
    ErrorPolicy.Action onError(boolean read, BlockStatus status) {
        return errors.map(e -> e.onError(read, status)).orElse(ErrorPolicy.Action.REPORT);
    }

    @Override
    void stopMachine(String request, BlockStatus why) {
        errors.ifPresent(e -> e.stop(request, why));
    }

    @Override
    void resetState(boolean powerOn) {
        pages.reset();
        preventers = 0;
        if (powerOn) {
            trayOpen = false;
            event = 0;
        }
    }

    @Override
    boolean conflicts(Operation operation, byte[] cdb, int initiator) {
        return false;
    }

    @Override
    void forget(int initiator) {
        preventers &= ~(1 << initiator);
    }

    // Commands.

    private boolean inside(long lba, long count) {
        return lba >= 0 && count <= blocks() && lba <= blocks() - count;
    }

    @Override
    void prepareMedium(ScsiCommand command, Operation operation) {
        byte[] cdb = command.cdb();
        long count = switch (operation) {
            case READ_10, READ_12 -> DiskUnit.count(cdb);
            case READ_CD -> userData(cdb) ? Bytes.uint24(cdb, 6) : 0;
            default -> 0;
        };
        if (count > 0 && inside(Bytes.uint32(cdb, 2), count)) {
            command.expect(ScsiCommand.Direction.IN, count * BLOCK_BYTES, true);
        }
    }

    @Override
    void perform(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        switch (operation) {
            case TEST_UNIT_READY, VERIFY_10, SEEK_10, SYNCHRONIZE_CACHE_10 -> {
                if (ready(task)) {
                    task.good();
                }
            }
            case READ_10, READ_12 -> read(task, Bytes.uint32(cdb, 2), DiskUnit.count(cdb));
            case READ_CD -> readCd(task);
            case READ_CAPACITY_10 -> {
                if (ready(task)) {
                    byte[] data = new byte[8];
                    Bytes.int32(data, 0, (int) Math.min(blocks() - 1, 0xffff_ffffL));
                    Bytes.int32(data, 4, BLOCK_BYTES);
                    task.reply(data, data.length, data.length);
                }
            }
            case READ_TOC -> readToc(task);
            case GET_CONFIGURATION -> getConfiguration(task);
            case GET_EVENT_STATUS_NOTIFICATION -> eventStatus(task);
            case READ_DISC_INFORMATION -> discInformation(task);
            case MECHANISM_STATUS -> {
                byte[] data = new byte[8];
                data[1] = (byte) (trayOpen ? 0x10 : 0);
                data[5] = 1;
                task.reply(data, data.length, Bytes.uint16(cdb, 8));
            }
            case SET_CD_SPEED -> task.good();
            case MODE_SENSE_6, MODE_SENSE_10 -> modeSense(task, operation);
            case MODE_SELECT_6, MODE_SELECT_10 -> modeSelect(task, operation);
            case START_STOP_UNIT -> startStop(task);
            case PREVENT_ALLOW_MEDIUM_REMOVAL -> preventAllow(task);
            default -> task.check(Sense.INVALID_COMMAND);
        }
    }

    private boolean ready(Task task) {
        if (blocks() > 0) {
            return true;
        }
        task.check(trayOpen ? Sense.NOT_PRESENT_TRAY_OPEN : Sense.NOT_PRESENT_TRAY_CLOSED);
        return false;
    }

    private void read(Task task, long lba, long count) {
        if (!ready(task)) {
            return;
        }
        if (!inside(lba, count)) {
            task.check(Sense.LBA_OUT_OF_RANGE, lba, -1);
        } else {
            task.read(lba * BLOCK_BYTES, count * BLOCK_BYTES);
        }
    }

    private static boolean userData(byte[] cdb) {
        return (cdb[9] & 0xf8) == 0x10;
    }

    private void readCd(Task task) {
        byte[] cdb = task.cdb();
        int type = cdb[1] >>> 2 & 7;
        if ((cdb[9] & 0xfe) == 0) {
            read(task, Bytes.uint32(cdb, 2), 0);
        } else if (!userData(cdb) || type == 1 || type == 3 || (cdb[10] & 7) != 0) {
            // The image has nothing but the user data of a track in mode 1.
            task.check(Sense.ILLEGAL_MODE_FOR_TRACK);
        } else {
            read(task, Bytes.uint32(cdb, 2), Bytes.uint24(cdb, 6));
        }
    }

    private void address(byte[] to, int at, long lba, boolean msf) {
        if (msf) {
            long frames = lba + LEAD_IN_FRAMES;
            to[at + 1] = (byte) Math.min(255, frames / (60 * FRAMES_PER_SECOND));
            to[at + 2] = (byte) (frames / FRAMES_PER_SECOND % 60);
            to[at + 3] = (byte) (frames % FRAMES_PER_SECOND);
        } else {
            Bytes.int32(to, at, (int) lba);
        }
    }

    private void readToc(Task task) {
        byte[] cdb = task.cdb();
        if (!ready(task)) {
            return;
        }
        boolean msf = (cdb[1] & 2) != 0;
        // Old drivers give the format at the top of the control byte.
        int format = (cdb[2] & 0xf) != 0 ? cdb[2] & 0xf : cdb[9] >>> 6 & 3;
        int first = Bytes.uint8(cdb, 6);
        byte[] data = new byte[20];
        data[2] = 1;
        data[3] = 1;
        int at = 4;
        switch (format) {
            case 0 -> {
                if (first > 1 && first != LEAD_OUT) {
                    task.invalidCdb(6);
                    return;
                }
                if (first <= 1) {
                    data[at + 1] = 0x14;
                    data[at + 2] = 1;
                    address(data, at + 4, 0, msf);
                    at += 8;
                }
                data[at + 1] = 0x14;
                data[at + 2] = (byte) LEAD_OUT;
                address(data, at + 4, blocks(), msf);
                at += 8;
            }
            case 1 -> {
                data[at + 1] = 0x14;
                data[at + 2] = 1;
                address(data, at + 4, 0, msf);
                at += 8;
            }
            default -> {
                task.invalidCdb(2);
                return;
            }
        }
        Bytes.int16(data, 0, at - 2);
        task.reply(data, at, Bytes.uint16(cdb, 7));
    }

    private void getConfiguration(Task task) {
        byte[] cdb = task.cdb();
        int start = Bytes.uint16(cdb, 2);
        int which = cdb[1] & 3;
        if (which == 3) {
            task.invalidCdb(1);
            return;
        }
        int profile = blocks() == 0 ? 0 : blocks() > CD_BLOCKS ? PROFILE_DVD_ROM : PROFILE_CD_ROM;
        byte[] data = new byte[128];
        Bytes.int16(data, 6, profile);
        int at = 8;
        boolean disc = blocks() > 0;
        at = feature(data, at, start, which, 0x0000, 0x03, true, profiles(profile));
        at = feature(data, at, start, which, 0x0001, 0x0b, true, new byte[] {0, 0, 0, 1, 1, 0, 0, 0});
        at = feature(data, at, start, which, 0x0002, 0x07, true, new byte[] {1, 0, 0, 0});
        at = feature(data, at, start, which, 0x0003, 0x03, true, new byte[] {0x39, 0, 0, 0});
        at = feature(data, at, start, which, 0x0010, 0x01, disc, new byte[] {0, 0, 8, 0, 0, 1, 0, 0});
        at = feature(data, at, start, which, 0x001e, 0x09, profile == PROFILE_CD_ROM, new byte[] {0, 0, 0, 0});
        at = feature(data, at, start, which, 0x001f, 0x05, profile == PROFILE_DVD_ROM, new byte[] {0, 0, 0, 0});
        Bytes.int32(data, 0, at - 4);
        task.reply(data, at, Bytes.uint16(cdb, 7));
    }

    private static byte[] profiles(int current) {
        byte[] list = new byte[8];
        Bytes.int16(list, 0, PROFILE_DVD_ROM);
        list[2] = (byte) (current == PROFILE_DVD_ROM ? 1 : 0);
        Bytes.int16(list, 4, PROFILE_CD_ROM);
        list[6] = (byte) (current == PROFILE_CD_ROM ? 1 : 0);
        return list;
    }

    /** Appends a feature descriptor if it is asked for: all, current ones, or one. */
    private static int feature(
            byte[] to, int at, int start, int which, int code, int version, boolean current, byte[] body) {
        boolean wanted = switch (which) {
            case 0 -> code >= start;
            case 1 -> code >= start && current;
            default -> code == start;
        };
        if (!wanted) {
            return at;
        }
        Bytes.int16(to, at, code);
        to[at + 2] = (byte) (version & 0xfe | (current ? 1 : 0));
        to[at + 3] = (byte) body.length;
        System.arraycopy(body, 0, to, at + 4, body.length);
        return at + 4 + body.length;
    }

    private void eventStatus(Task task) {
        byte[] cdb = task.cdb();
        if ((cdb[1] & 1) == 0) {
            // Asynchronous notification is not supported.
            task.invalidCdb(1);
            return;
        }
        byte[] data = new byte[8];
        boolean media = (cdb[4] & 0x10) != 0;
        data[2] = (byte) (media ? 4 : 0x80);
        data[3] = 0x10;
        int length = 4;
        if (media) {
            lock.lock();
            try {
                data[4] = (byte) event;
                event = 0;
            } finally {
                lock.unlock();
            }
            data[5] = (byte) ((trayOpen ? 1 : 0) | (blocks() > 0 ? 2 : 0));
            length = 8;
        }
        Bytes.int16(data, 0, length - 2);
        task.reply(data, length, Bytes.uint16(cdb, 7));
    }

    private void discInformation(Task task) {
        if (!ready(task)) {
            return;
        }
        if ((task.cdb()[1] & 7) != 0) {
            task.invalidCdb(1);
            return;
        }
        byte[] data = new byte[34];
        Bytes.int16(data, 0, data.length - 2);
        // Complete disc, complete last session, one session, one track.
        data[2] = 0x0e;
        data[3] = 1;
        data[4] = 1;
        data[5] = 1;
        data[6] = 1;
        data[7] = 0x20;
        java.util.Arrays.fill(data, 16, 24, (byte) 0xff);
        task.reply(data, data.length, Bytes.uint16(task.cdb(), 7));
    }

    private void modeSense(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        boolean six = operation == Operation.MODE_SENSE_6;
        int control = cdb[2] >>> 6 & 3;
        int code = cdb[2] & 0x3f;
        if (control == 3) {
            task.check(Sense.SAVING_NOT_SUPPORTED);
            return;
        }
        if (!pages.has(code)) {
            task.invalidCdb(2);
            return;
        }
        byte[] data = new byte[64];
        int header = six ? 4 : 8;
        int at;
        lock.lock();
        try {
            at = pages.append(data, header, code, control);
        } finally {
            lock.unlock();
        }
        if (six) {
            data[0] = (byte) (at - 1);
        } else {
            Bytes.int16(data, 0, at - 2);
        }
        task.reply(data, at, six ? Bytes.uint8(cdb, 4) : Bytes.uint16(cdb, 7));
    }

    private void modeSelect(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        boolean six = operation == Operation.MODE_SELECT_6;
        int length = six ? Bytes.uint8(cdb, 4) : Bytes.uint16(cdb, 7);
        if ((cdb[1] & 1) != 0) {
            task.invalidCdb(1);
            return;
        }
        byte[] list = task.parameters(length, 4096);
        if (list == null) {
            return;
        }
        int header = six ? 4 : 8;
        if (length != 0 && length < header) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        ModePages.Verdict verdict = ModePages.Verdict.OK;
        lock.lock();
        try {
            if (length > header) {
                verdict = pages.select(list, header, false);
            }
        } finally {
            lock.unlock();
        }
        switch (verdict) {
            case OK -> task.good();
            case INVALID_FIELD -> task.invalidParameter(header);
            case LENGTH_ERROR -> task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
        }
    }

    private void startStop(Task task) {
        byte[] cdb = task.cdb();
        boolean start = (cdb[4] & 1) != 0;
        boolean load = (cdb[4] & 2) != 0;
        boolean refused = false;
        if ((cdb[4] & 0xf0) == 0 && load) {
            lock.lock();
            try {
                refused = !start && preventers != 0;
                if (refused) {
                    event = EVENT_EJECT_REQUEST;
                } else if (trayOpen == start) {
                    move(!start, task.command().initiator() & (INITIATORS - 1));
                }
            } finally {
                lock.unlock();
            }
        }
        if (refused) {
            task.check(Sense.REMOVAL_PREVENTED);
        } else {
            task.good();
        }
    }

    /** Opens or closes the tray. The lock is held. */
    private void move(boolean open, int initiator) {
        trayOpen = open;
        if (discBlocks > 0) {
            event = open ? EVENT_MEDIA_REMOVAL : EVENT_NEW_MEDIA;
            if (!open) {
                attention(Sense.MEDIUM_MAY_HAVE_CHANGED, initiator);
                attentionExcept(Sense.MEDIUM_MAY_HAVE_CHANGED, initiator);
            }
        }
    }

    private void preventAllow(Task task) {
        int bit = 1 << (task.command().initiator() & (INITIATORS - 1));
        lock.lock();
        try {
            preventers = (task.cdb()[4] & 1) != 0 ? preventers | bit : preventers & ~bit;
        } finally {
            lock.unlock();
        }
        task.good();
    }

    // State.

    /** What is saved. */
    public record State(LogicalUnit.State common, boolean trayOpen, int preventers, int event) {}

    /** The state, while nothing is in flight. */
    public State save() {
        lock.lock();
        try {
            return new State(saveCommon(), trayOpen, preventers, event);
        } finally {
            lock.unlock();
        }
    }

    /** Restores it. */
    public void restore(State state) {
        lock.lock();
        try {
            restoreCommon(state.common());
            trayOpen = state.trayOpen();
            preventers = state.preventers();
            event = state.event();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = super.inspect();
        map.put("drive", backend.map(BlockBackend::describe).orElse("empty"));
        map.put("tray-open", trayOpen);
        map.put("blocks", discBlocks);
        return map;
    }
}
