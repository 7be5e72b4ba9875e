package org.benchtop.ide.drive;

import static org.benchtop.ide.drive.TaskFile.ABRT;
import static org.benchtop.ide.drive.TaskFile.DRDY;
import static org.benchtop.ide.drive.TaskFile.DSC;
import static org.benchtop.ide.drive.TaskFile.ERR;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockStatus;

/** An ATAPI CD/DVD drive (ATA8-ACS packet feature set, MMC-5): one data track, read-only, removable. */
public final class AtapiDrive extends AtaDevice {
    /** Bytes in a sector of data. */
    public static final int SECTOR_BYTES = 2048;

    private static final ValueLayout.OfInt BIG_INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfShort BIG_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private static final int PACKET_BYTES = 12;
    private static final int SET_FEATURES_TRANSFER_MODE = 0x03;
    /** Interrupt reasons in the count register: command or data, and direction to the host. */
    private static final int REASON_COMMAND = 1;

    private static final int REASON_IN = 2;
    private static final int REASON_STATUS = REASON_COMMAND | REASON_IN;

    /** Sectors of the largest CD: 80 minutes. A longer disc is a DVD. */
    private static final long CD_SECTORS = 80L * 60 * 75;

    private static final int PROFILE_CD_ROM = 0x0008;
    private static final int PROFILE_DVD_ROM = 0x0010;
    private static final int RAW_CHUNK = BUFFER_BYTES / RawSector.BYTES;

    /** What the buffer receives or what follows the data. */
    private enum Then {
        /** Nothing: the command ends. */
        NOTHING,
        /** The host writes the packet. */
        PACKET,
        /** The host writes mode pages. */
        MODE_PAGES,
        /** The data from the medium gets its frame. */
        RAW,
    }

    /** What GET EVENT STATUS NOTIFICATION reports about the medium. */
    private enum MediaEvent {
        NONE,
        EJECT_REQUEST,
        NEW_MEDIA,
        MEDIA_REMOVAL,
    }

    private final AtapiDriveOptions options;
    private final byte[] packet = new byte[PACKET_BYTES];

    private long discBytes;
    private boolean discInserted;
    private boolean trayOpen;
    private boolean locked;
    private int sense;
    private int unitAttention;
    private MediaEvent event = MediaEvent.NONE;
    private int multiwordMode;
    private int ultraMode;

    private Then then = Then.NOTHING;
    private boolean identifying;
    private boolean packetDma;
    private int byteLimit;
    private long rawFirst;
    private int rawSectors;

    /** A drive after power-on, without a disc. */
    public AtapiDrive(String id, AtapiDriveOptions options) {
        super(id);
        this.options = options;
        reset(true);
    }

    @Override
    public boolean packet() {
        return true;
    }

    @Override
    public int sectorBytes() {
        return SECTOR_BYTES;
    }

    @Override
    long mediumBytes() {
        return discBytes;
    }

    // The disc, from outside.

    /** Puts a disc in and closes the tray; the guest is told that the medium has changed. */
    public void insert(long sizeBytes) {
        discBytes = sizeBytes / SECTOR_BYTES * SECTOR_BYTES;
        discInserted = true;
        closeTray();
    }

    /** Takes the disc out, whether the guest has locked the tray or not. */
    public void remove() {
        discBytes = 0;
        discInserted = false;
        trayOpen = true;
        event = MediaEvent.MEDIA_REMOVAL;
    }

    /** The button on the drive: opens or closes the tray, or, while it is locked, asks the guest to. */
    public void button() {
        if (trayOpen) {
            closeTray();
        } else if (locked) {
            event = MediaEvent.EJECT_REQUEST;
        } else {
            openTray();
        }
    }

    private void openTray() {
        trayOpen = true;
        event = MediaEvent.MEDIA_REMOVAL;
    }

    private void closeTray() {
        trayOpen = false;
        if (discInserted) {
            unitAttention = Sense.MEDIUM_MAY_HAVE_CHANGED;
            event = MediaEvent.NEW_MEDIA;
        }
    }

    private boolean ready() {
        return discInserted && !trayOpen;
    }

    private long sectors() {
        return ready() ? discBytes / SECTOR_BYTES : 0;
    }

    private int profile() {
        if (!ready()) {
            return 0;
        }
        return sectors() > CD_SECTORS ? PROFILE_DVD_ROM : PROFILE_CD_ROM;
    }

    // The interface.

    @Override
    void resetDone(boolean powerOn) {
        registers().signature(true);
        registers().status = 0;
        then = Then.NOTHING;
        identifying = false;
        sense = Sense.NONE;
        if (powerOn) {
            unitAttention = Sense.POWER_ON_OR_RESET;
            locked = false;
            multiwordMode = 0;
            ultraMode = 0;
            if (trayOpen) {
                closeTray();
            }
        }
    }

    @Override
    void execute(int command) {
        then = Then.NOTHING;
        identifying = false;
        switch (command) {
            case DEVICE_RESET -> reset(false);
            case EXECUTE_DEVICE_DIAGNOSTIC -> {
                registers().signature(true);
                registers().status = 0;
                interrupt();
            }
            case AtaCommand.PACKET -> {
                packetDma = (registers().features() & 1) != 0;
                byteLimit = registers().lbaMid() | registers().lbaHigh() << 8;
                then = Then.PACKET;
                receiveBuffer(PACKET_BYTES, PACKET_BYTES, false, false);
            }
            case AtaCommand.IDENTIFY_PACKET_DEVICE -> {
                identify();
                identifying = true;
                sendBuffer(IdentifyData.BYTES, IdentifyData.BYTES, false);
            }
            case AtaCommand.IDENTIFY_DEVICE, AtaCommand.READ_SECTORS -> {
                // The signature tells the driver to ask again as for a packet device.
                registers().signature(true);
                abort();
            }
            case AtaCommand.SET_FEATURES -> setFeatures();
            case AtaCommand.CHECK_POWER_MODE -> {
                registers().count(0xff);
                succeed();
            }
            case AtaCommand.STANDBY_IMMEDIATE, AtaCommand.IDLE_IMMEDIATE, AtaCommand.SLEEP, AtaCommand.FLUSH_CACHE ->
                succeed();
            default -> abort();
        }
    }

    private void succeed() {
        registers().status = DRDY | DSC;
        registers().error = 0;
        interrupt();
    }

    private void abort() {
        registers().status = DRDY | ERR;
        registers().error = ABRT;
        interrupt();
    }

    private void setFeatures() {
        int mode = registers().count() & 7;
        int group = registers().count() >> 3;
        boolean known = group <= 1 && mode <= 4 || group == 4 && mode <= 2 || group == 8 && mode <= 5;
        switch (registers().features()) {
            case SET_FEATURES_TRANSFER_MODE -> {
                if (!known) {
                    abort();
                    return;
                }
                if (group >= 4) {
                    multiwordMode = group == 4 ? 1 << mode : 0;
                    ultraMode = group == 8 ? 1 << mode : 0;
                }
                succeed();
            }
            case 0x66, 0xcc -> succeed();
            default -> abort();
        }
    }

    @Override
    void blockOffered(boolean toDevice, int bytes) {
        if (then == Then.PACKET) {
            registers().count(REASON_COMMAND);
            return;
        }
        registers().count(toDevice ? 0 : REASON_IN);
        registers().lbaMidHigh(bytes, bytes >>> 8);
    }

    // Endings of packet commands.

    private void good() {
        sense = Sense.NONE;
        registers().status = DRDY | DSC;
        registers().error = 0;
        registers().count(REASON_STATUS);
        interrupt();
    }

    private void check(int newSense) {
        sense = newSense;
        registers().status = DRDY | ERR;
        registers().error = Sense.key(newSense) << 4 | ABRT;
        registers().count(REASON_STATUS);
        interrupt();
    }

    @Override
    void finished(boolean readByHost) {
        if (identifying) {
            // A plain data-in command: no interrupt follows its data.
            identifying = false;
            registers().status = DRDY | DSC;
            registers().error = 0;
            return;
        }
        good();
    }

    @Override
    void mediaFailed(long offset, boolean write, BlockStatus status) {
        check(status == BlockStatus.OUT_OF_RANGE ? Sense.LBA_OUT_OF_RANGE : Sense.UNRECOVERED_READ_ERROR);
    }

    @Override
    void busFailed() {
        check(Sense.ABORTED);
    }

    @Override
    void queuedDone(Transfer done, BlockStatus status) {
        throw new IllegalStateException(id() + ": CD drives queue no commands");
    }

    @Override
    void actionDone(BlockStatus status) {
        endAction();
        good();
    }

    @Override
    void received() {
        if (then == Then.MODE_PAGES) {
            then = Then.NOTHING;
            good();
            return;
        }
        then = Then.NOTHING;
        MemorySegment.copy(buffer(), ValueLayout.JAVA_BYTE, 0, packet, 0, PACKET_BYTES);
        runPacket();
    }

    // Packets.

    private int packet8(int index) {
        return packet[index] & 0xff;
    }

    private int packet16(int index) {
        return packet8(index) << 8 | packet8(index + 1);
    }

    private long packet32(int index) {
        return (long) packet16(index) << 16 | packet16(index + 2);
    }

    /** Whether a command runs although a unit attention is pending (SPC-3, 5.6). */
    private static boolean ignoresAttention(int operation) {
        return operation == PacketCommand.INQUIRY
                || operation == PacketCommand.REQUEST_SENSE
                || operation == PacketCommand.GET_CONFIGURATION
                || operation == PacketCommand.GET_EVENT_STATUS_NOTIFICATION;
    }

    private void runPacket() {
        int operation = packet8(0);
        if (unitAttention != 0 && !ignoresAttention(operation)) {
            int attention = unitAttention;
            unitAttention = 0;
            check(attention);
            return;
        }
        if (PacketCommand.needsDisc(operation) && !ready()) {
            check(trayOpen ? Sense.NOT_PRESENT_TRAY_OPEN : Sense.NOT_PRESENT_TRAY_CLOSED);
            return;
        }
        switch (operation) {
            case PacketCommand.TEST_UNIT_READY,
                    PacketCommand.SET_CD_SPEED,
                    PacketCommand.SYNCHRONIZE_CACHE,
                    PacketCommand.VERIFY_10 -> good();
            case PacketCommand.REQUEST_SENSE -> requestSense();
            case PacketCommand.INQUIRY -> inquiry();
            case PacketCommand.START_STOP_UNIT -> startStop();
            case PacketCommand.PREVENT_ALLOW_MEDIUM_REMOVAL -> {
                locked = (packet8(4) & 1) != 0;
                good();
            }
            case PacketCommand.READ_CAPACITY -> {
                MemorySegment data = answer(8);
                data.set(BIG_INT, 0, (int) (sectors() - 1));
                data.set(BIG_INT, 4, SECTOR_BYTES);
                send(8, 8);
            }
            case PacketCommand.READ_10 -> read(packet32(2), packet16(7));
            case PacketCommand.READ_12 -> read(packet32(2), packet32(6));
            case PacketCommand.SEEK_10 -> {
                if (packet32(2) >= sectors()) {
                    check(Sense.LBA_OUT_OF_RANGE);
                } else {
                    good();
                }
            }
            case PacketCommand.READ_CD -> {
                long count = (long) packet8(6) << 16 | packet16(7);
                readCd(packet32(2), count);
            }
            case PacketCommand.READ_CD_MSF -> {
                long first = lba(packet8(3), packet8(4), packet8(5));
                readCd(first, lba(packet8(6), packet8(7), packet8(8)) - first);
            }
            case PacketCommand.READ_TOC -> readToc();
            case PacketCommand.READ_HEADER -> readHeader();
            case PacketCommand.READ_SUB_CHANNEL -> readSubChannel();
            case PacketCommand.READ_DISC_INFORMATION -> discInformation();
            case PacketCommand.READ_TRACK_INFORMATION -> trackInformation();
            case PacketCommand.READ_DVD_STRUCTURE -> dvdStructure();
            case PacketCommand.GET_CONFIGURATION -> configuration();
            case PacketCommand.GET_EVENT_STATUS_NOTIFICATION -> eventStatus();
            case PacketCommand.MECHANISM_STATUS -> {
                MemorySegment data = answer(8);
                data.set(ValueLayout.JAVA_BYTE, 1, (byte) (trayOpen ? 0x10 : 0));
                send(8, packet16(8));
            }
            case PacketCommand.MODE_SENSE_10 -> modeSense();
            case PacketCommand.MODE_SELECT_10 -> {
                int length = packet16(7);
                if (length == 0) {
                    good();
                    return;
                }
                then = Then.MODE_PAGES;
                receiveBuffer(length, limit(), packetDma, true);
            }
            default -> check(Sense.INVALID_COMMAND);
        }
    }

    private static long lba(int minute, int second, int frame) {
        return (minute * 60L + second) * 75 + frame - 150;
    }

    private MemorySegment answer(int bytes) {
        return buffer().asSlice(0, bytes).fill((byte) 0);
    }

    /** Blocks of programmed I/O: the driver's limit, even unless one block holds everything. */
    private int limit() {
        int limit = byteLimit == 0xffff ? 0xfffe : byteLimit;
        return Math.max(2, limit & ~1);
    }

    /** Sends an answer, shortened to what the driver has room for. */
    private void send(int bytes, int allocated) {
        int length = Math.min(bytes, allocated);
        if (length > 0 && !packetDma && byteLimit == 0) {
            abort();
            return;
        }
        sense = Sense.NONE;
        sendBuffer(length, limit(), packetDma);
    }

    private void requestSense() {
        int reported = sense != Sense.NONE ? sense : unitAttention;
        if (sense == Sense.NONE) {
            unitAttention = 0;
        }
        MemorySegment data = answer(18);
        data.set(ValueLayout.JAVA_BYTE, 0, (byte) 0x70);
        data.set(ValueLayout.JAVA_BYTE, 2, (byte) Sense.key(reported));
        data.set(ValueLayout.JAVA_BYTE, 7, (byte) 10);
        data.set(BIG_SHORT, 12, (short) reported);
        send(18, packet8(4));
    }

    private static void text(MemorySegment data, int at, int length, String text) {
        for (int i = 0; i < length; i++) {
            data.set(ValueLayout.JAVA_BYTE, at + i, (byte) (i < text.length() ? text.charAt(i) : ' '));
        }
    }

    private void inquiry() {
        boolean vital = (packet8(1) & 1) != 0;
        int page = packet8(2);
        int allocated = packet16(3);
        if (!vital) {
            if (page != 0) {
                check(Sense.INVALID_FIELD_IN_CDB);
                return;
            }
            MemorySegment data = answer(36);
            data.set(ValueLayout.JAVA_BYTE, 0, (byte) 0x05);
            data.set(ValueLayout.JAVA_BYTE, 1, (byte) 0x80);
            data.set(ValueLayout.JAVA_BYTE, 2, (byte) 0x05);
            data.set(ValueLayout.JAVA_BYTE, 3, (byte) 0x21);
            data.set(ValueLayout.JAVA_BYTE, 4, (byte) 31);
            String[] words = options.model().split(" ", 2);
            text(data, 8, 8, words.length == 2 ? words[0] : "BENCHTOP");
            text(data, 16, 16, words.length == 2 ? words[1] : words[0]);
            text(data, 32, 4, options.version());
            send(36, allocated);
            return;
        }
        switch (page) {
            case 0x00 -> {
                MemorySegment data = answer(7);
                data.set(ValueLayout.JAVA_BYTE, 0, (byte) 0x05);
                data.set(ValueLayout.JAVA_BYTE, 3, (byte) 3);
                data.set(ValueLayout.JAVA_BYTE, 5, (byte) 0x80);
                data.set(ValueLayout.JAVA_BYTE, 6, (byte) 0x83);
                send(7, allocated);
            }
            case 0x80 -> {
                MemorySegment data = answer(24);
                data.set(ValueLayout.JAVA_BYTE, 0, (byte) 0x05);
                data.set(ValueLayout.JAVA_BYTE, 1, (byte) page);
                data.set(ValueLayout.JAVA_BYTE, 3, (byte) 20);
                text(data, 4, 20, options.serial());
                send(24, allocated);
            }
            case 0x83 -> {
                MemorySegment data = answer(44);
                data.set(ValueLayout.JAVA_BYTE, 0, (byte) 0x05);
                data.set(ValueLayout.JAVA_BYTE, 1, (byte) page);
                int length = 24;
                data.set(ValueLayout.JAVA_BYTE, 4, (byte) 0x02);
                data.set(ValueLayout.JAVA_BYTE, 7, (byte) 20);
                text(data, 8, 20, options.serial());
                if (options.wwn() != 0) {
                    data.set(ValueLayout.JAVA_BYTE, 28, (byte) 0x01);
                    data.set(ValueLayout.JAVA_BYTE, 29, (byte) 0x03);
                    data.set(ValueLayout.JAVA_BYTE, 31, (byte) 8);
                    data.set(BIG_INT, 32, (int) (options.wwn() >>> 32));
                    data.set(BIG_INT, 36, (int) options.wwn());
                    length += 12;
                }
                data.set(ValueLayout.JAVA_BYTE, 3, (byte) length);
                send(4 + length, allocated);
            }
            default -> check(Sense.INVALID_FIELD_IN_CDB);
        }
    }

    private void startStop() {
        boolean start = (packet8(4) & 1) != 0;
        boolean loadEject = (packet8(4) & 2) != 0;
        boolean power = (packet8(4) & 0xf0) != 0;
        if (loadEject && !power && !start) {
            if (locked && !trayOpen) {
                check(ready() ? Sense.REMOVAL_PREVENTED : Sense.NOT_PRESENT_TRAY_CLOSED);
                return;
            }
            if (!trayOpen) {
                openTray();
                event = MediaEvent.NONE;
            }
        } else if (loadEject && !power && trayOpen) {
            closeTray();
        }
        good();
    }

    // Reading.

    private void read(long first, long count) {
        if (count > sectors() || first > sectors() - count) {
            check(Sense.LBA_OUT_OF_RANGE);
        } else if (count == 0) {
            good();
        } else if (!packetDma && byteLimit == 0) {
            abort();
        } else {
            sense = Sense.NONE;
            readMedia(first * SECTOR_BYTES, count * SECTOR_BYTES, limit(), packetDma);
        }
    }

    private void readCd(long first, long count) {
        int type = packet8(1) >> 2 & 7;
        int wanted = packet8(9) & 0xf8;
        if (type != 0 && type != 2) {
            check(Sense.ILLEGAL_MODE_FOR_TRACK);
        } else if (count < 0 || first < 0 || first + count > sectors()) {
            check(Sense.LBA_OUT_OF_RANGE);
        } else if (count == 0 || wanted == 0) {
            good();
        } else if (wanted == 0x10) {
            read(first, count);
        } else if (wanted == 0xf8 && count <= RAW_CHUNK && (packetDma || byteLimit != 0)) {
            then = Then.RAW;
            rawFirst = first;
            rawSectors = (int) count;
            transfer().memory().clear();
            for (int i = 0; i < rawSectors; i++) {
                long at = (long) i * RawSector.BYTES + RawSector.DATA;
                transfer().memory().add(buffer(), at, RawSector.DATA_BYTES);
            }
            fillBuffer(first * SECTOR_BYTES);
        } else {
            check(Sense.INVALID_FIELD_IN_CDB);
        }
    }

    @Override
    void bufferFilled() {
        then = Then.NOTHING;
        for (int i = 0; i < rawSectors; i++) {
            RawSector.complete(buffer(), (long) i * RawSector.BYTES, rawFirst + i);
        }
        send(rawSectors * RawSector.BYTES, Integer.MAX_VALUE);
    }

    // The disc's structure: one session, one track.

    private static void putAddress(MemorySegment data, int at, long lba, boolean msf) {
        if (!msf) {
            data.set(BIG_INT, at, (int) lba);
            return;
        }
        long frame = lba + 150;
        data.set(ValueLayout.JAVA_BYTE, at + 1, (byte) (frame / 75 / 60));
        data.set(ValueLayout.JAVA_BYTE, at + 2, (byte) (frame / 75 % 60));
        data.set(ValueLayout.JAVA_BYTE, at + 3, (byte) (frame % 75));
    }

    private void readToc() {
        boolean msf = (packet8(1) & 2) != 0;
        int format = packet8(2) & 0x0f;
        if (format == 0) {
            // Old drivers put the format into the last byte.
            format = packet8(9) >> 6;
        }
        int track = packet8(6);
        int allocated = packet16(7);
        switch (format) {
            case 0 -> {
                if (track > 1 && track != 0xaa) {
                    check(Sense.INVALID_FIELD_IN_CDB);
                    return;
                }
                MemorySegment data = answer(20);
                data.set(ValueLayout.JAVA_BYTE, 2, (byte) 1);
                data.set(ValueLayout.JAVA_BYTE, 3, (byte) 1);
                int at = 4;
                if (track <= 1) {
                    data.set(ValueLayout.JAVA_BYTE, at + 1, (byte) 0x14);
                    data.set(ValueLayout.JAVA_BYTE, at + 2, (byte) 1);
                    putAddress(data, at + 4, 0, msf);
                    at += 8;
                }
                data.set(ValueLayout.JAVA_BYTE, at + 1, (byte) 0x14);
                data.set(ValueLayout.JAVA_BYTE, at + 2, (byte) 0xaa);
                putAddress(data, at + 4, sectors(), msf);
                at += 8;
                data.set(BIG_SHORT, 0, (short) (at - 2));
                send(at, allocated);
            }
            case 1 -> {
                MemorySegment data = answer(12);
                data.set(BIG_SHORT, 0, (short) 10);
                data.set(ValueLayout.JAVA_BYTE, 2, (byte) 1);
                data.set(ValueLayout.JAVA_BYTE, 3, (byte) 1);
                data.set(ValueLayout.JAVA_BYTE, 5, (byte) 0x14);
                data.set(ValueLayout.JAVA_BYTE, 6, (byte) 1);
                putAddress(data, 8, 0, msf);
                send(12, allocated);
            }
            case 2 -> fullToc(allocated);
            default -> check(Sense.INVALID_FIELD_IN_CDB);
        }
    }

    /** The lead-in's entries (MMC-5, 6.26.3.4): first track, last track, lead-out, track 1. */
    private void fullToc(int allocated) {
        MemorySegment data = answer(48);
        data.set(BIG_SHORT, 0, (short) 46);
        data.set(ValueLayout.JAVA_BYTE, 2, (byte) 1);
        data.set(ValueLayout.JAVA_BYTE, 3, (byte) 1);
        int[] points = {0xa0, 0xa1, 0xa2, 0x01};
        for (int i = 0; i < points.length; i++) {
            int at = 4 + 11 * i;
            data.set(ValueLayout.JAVA_BYTE, at, (byte) 1);
            data.set(ValueLayout.JAVA_BYTE, at + 1, (byte) 0x14);
            data.set(ValueLayout.JAVA_BYTE, at + 3, (byte) points[i]);
            if (points[i] == 0xa0 || points[i] == 0xa1) {
                data.set(ValueLayout.JAVA_BYTE, at + 8, (byte) 1);
            } else {
                putAddress(data, at + 7, points[i] == 1 ? 0 : sectors(), true);
            }
        }
        send(48, allocated);
    }

    private void readHeader() {
        long lba = packet32(2);
        if (lba >= sectors()) {
            check(Sense.LBA_OUT_OF_RANGE);
            return;
        }
        MemorySegment data = answer(8);
        data.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
        putAddress(data, 4, lba, (packet8(1) & 2) != 0);
        send(8, packet16(7));
    }

    private void readSubChannel() {
        MemorySegment data = answer(24);
        data.set(ValueLayout.JAVA_BYTE, 1, (byte) 0x15);
        if ((packet8(2) & 0x40) == 0) {
            send(4, packet16(7));
            return;
        }
        int format = packet8(3);
        if (format == 1) {
            data.set(BIG_SHORT, 2, (short) 12);
            data.set(ValueLayout.JAVA_BYTE, 4, (byte) 1);
            data.set(ValueLayout.JAVA_BYTE, 5, (byte) 0x14);
            data.set(ValueLayout.JAVA_BYTE, 6, (byte) 1);
            data.set(ValueLayout.JAVA_BYTE, 7, (byte) 1);
            putAddress(data, 8, 0, (packet8(1) & 2) != 0);
            send(16, packet16(7));
        } else if (format == 2 || format == 3) {
            data.set(BIG_SHORT, 2, (short) 20);
            data.set(ValueLayout.JAVA_BYTE, 4, (byte) format);
            send(24, packet16(7));
        } else {
            check(Sense.INVALID_FIELD_IN_CDB);
        }
    }

    private void discInformation() {
        if ((packet8(1) & 7) != 0) {
            check(Sense.INVALID_FIELD_IN_CDB);
            return;
        }
        MemorySegment data = answer(34);
        data.set(BIG_SHORT, 0, (short) 32);
        data.set(ValueLayout.JAVA_BYTE, 2, (byte) 0x0e);
        data.set(ValueLayout.JAVA_BYTE, 3, (byte) 1);
        data.set(ValueLayout.JAVA_BYTE, 4, (byte) 1);
        data.set(ValueLayout.JAVA_BYTE, 5, (byte) 1);
        data.set(ValueLayout.JAVA_BYTE, 6, (byte) 1);
        data.set(ValueLayout.JAVA_BYTE, 7, (byte) 0x20);
        send(34, packet16(7));
    }

    private void trackInformation() {
        int kind = packet8(1) & 3;
        long number = packet32(2);
        boolean exists = kind == 0 ? number < sectors() : number == 1;
        if (kind > 2 || !exists) {
            check(Sense.INVALID_FIELD_IN_CDB);
            return;
        }
        MemorySegment data = answer(36);
        data.set(BIG_SHORT, 0, (short) 34);
        data.set(ValueLayout.JAVA_BYTE, 2, (byte) 1);
        data.set(ValueLayout.JAVA_BYTE, 3, (byte) 1);
        data.set(ValueLayout.JAVA_BYTE, 5, (byte) 4);
        data.set(ValueLayout.JAVA_BYTE, 6, (byte) 1);
        data.set(BIG_INT, 24, (int) sectors());
        send(36, packet16(7));
    }

    private void dvdStructure() {
        int format = packet8(7);
        boolean known = packet8(1) == 0 && (format == 0 || format == 1 || format == 4 || format == 0xff);
        if (profile() != PROFILE_DVD_ROM || !known || packet8(6) != 0) {
            check(Sense.INVALID_FIELD_IN_CDB);
            return;
        }
        int allocated = packet16(8);
        switch (format) {
            case 0 -> {
                MemorySegment data = answer(2052);
                data.set(BIG_SHORT, 0, (short) 2050);
                data.set(ValueLayout.JAVA_BYTE, 4, (byte) 0x01);
                data.set(ValueLayout.JAVA_BYTE, 5, (byte) 0x0f);
                data.set(ValueLayout.JAVA_BYTE, 6, (byte) 0x01);
                data.set(BIG_INT, 8, 0x30000);
                data.set(BIG_INT, 12, (int) (0x30000 + sectors() - 1));
                send(2052, allocated);
            }
            case 1 -> {
                MemorySegment data = answer(8);
                data.set(BIG_SHORT, 0, (short) 6);
                send(8, allocated);
            }
            case 4 -> {
                MemorySegment data = answer(2052);
                data.set(BIG_SHORT, 0, (short) 2050);
                send(2052, allocated);
            }
            default -> {
                MemorySegment data = answer(16);
                data.set(BIG_SHORT, 0, (short) 14);
                int[] entries = {0x00_40_0804, 0x01_40_0008, 0x04_40_0804};
                for (int i = 0; i < entries.length; i++) {
                    data.set(BIG_INT, 4 + 4 * i, entries[i]);
                }
                send(16, allocated);
            }
        }
    }

    // Features (MMC-5, 5.3 and 6.6).

    private int at;

    private void feature(MemorySegment data, int code, int versionAndFlags, int... body) {
        int request = packet8(1) & 3;
        int start = packet16(2);
        boolean current = (versionAndFlags & 1) != 0;
        boolean shown = request == 2 ? code == start : code >= start && (request == 0 || current);
        if (!shown) {
            return;
        }
        data.set(BIG_SHORT, at, (short) code);
        data.set(ValueLayout.JAVA_BYTE, at + 2, (byte) versionAndFlags);
        data.set(ValueLayout.JAVA_BYTE, at + 3, (byte) body.length);
        for (int i = 0; i < body.length; i++) {
            data.set(ValueLayout.JAVA_BYTE, at + 4 + i, (byte) body[i]);
        }
        at += 4 + body.length;
    }

    private void configuration() {
        int request = packet8(1) & 3;
        if (request == 3) {
            check(Sense.INVALID_FIELD_IN_CDB);
            return;
        }
        int profile = profile();
        int cd = profile == PROFILE_CD_ROM ? 1 : 0;
        int dvd = profile == PROFILE_DVD_ROM ? 1 : 0;
        MemorySegment data = answer(256);
        at = 8;
        feature(data, 0x0000, 0x03, 0x00, 0x10, dvd, 0, 0x00, 0x08, cd, 0);
        feature(data, 0x0001, 0x0b, 0, 0, 0, 2, 1, 0, 0, 0);
        feature(data, 0x0002, 0x07, 0x02, 0, 0, 0);
        feature(data, 0x0003, 0x03, 0x29, 0, 0, 0);
        feature(data, 0x0010, cd | dvd, 0, 0, 8, 0, 0, 1, 1, 0);
        feature(data, 0x001e, 0x08 | cd, 0, 0, 0, 0);
        feature(data, 0x001f, 0x04 | dvd, 0, 0, 0, 0);
        feature(data, 0x0100, 0x03);
        feature(data, 0x0105, 0x03, 0, 0, 0, 0);
        data.set(BIG_INT, 0, at - 4);
        data.set(BIG_SHORT, 6, (short) profile);
        send(at, packet16(7));
    }

    private void eventStatus() {
        boolean polled = (packet8(1) & 1) != 0;
        boolean media = (packet8(4) & 0x10) != 0;
        if (!polled) {
            check(Sense.INVALID_FIELD_IN_CDB);
            return;
        }
        MemorySegment data = answer(8);
        data.set(ValueLayout.JAVA_BYTE, 3, (byte) 0x10);
        if (!media) {
            data.set(BIG_SHORT, 0, (short) 2);
            data.set(ValueLayout.JAVA_BYTE, 2, (byte) 0x80);
            send(4, packet16(7));
            return;
        }
        data.set(BIG_SHORT, 0, (short) 6);
        data.set(ValueLayout.JAVA_BYTE, 2, (byte) 4);
        data.set(ValueLayout.JAVA_BYTE, 4, (byte) event.ordinal());
        data.set(ValueLayout.JAVA_BYTE, 5, (byte) ((trayOpen ? 1 : 0) | (ready() ? 2 : 0)));
        event = MediaEvent.NONE;
        send(8, packet16(7));
    }

    private static final int[][] MODE_PAGES = {
        {0x01, 6, 0, 0, 0, 0, 0, 0},
        {0x0e, 14, 4, 0, 0, 0, 0, 75, 1, 0xff, 2, 0xff, 0, 0, 0, 0},
        {0x2a, 18, 0x3b, 0, 0x70, 0x60, 0x29, 0, 0x16, 0x00, 0, 2, 2, 0, 0x16, 0x00, 0, 0, 0, 0},
    };

    private void modeSense() {
        int control = packet8(2) >> 6;
        int code = packet8(2) & 0x3f;
        if (control == 3) {
            check(Sense.SAVING_NOT_SUPPORTED);
            return;
        }
        MemorySegment data = answer(64);
        int length = 8;
        for (int[] page : MODE_PAGES) {
            if (code == page[0] || code == 0x3f) {
                for (int i = 0; i < page.length; i++) {
                    boolean shown = control != 1 || i < 2;
                    data.set(ValueLayout.JAVA_BYTE, length + i, (byte) (shown ? page[i] : 0));
                }
                if (page[0] == 0x2a && control != 1) {
                    data.set(ValueLayout.JAVA_BYTE, length + 6, (byte) (locked ? 0x2b : 0x29));
                }
                length += page.length;
            }
        }
        if (length == 8) {
            check(Sense.INVALID_FIELD_IN_CDB);
            return;
        }
        data.set(BIG_SHORT, 0, (short) (length - 2));
        data.set(ValueLayout.JAVA_BYTE, 2, (byte) (ready() ? 0x01 : trayOpen ? 0x71 : 0x70));
        send(length, packet16(7));
    }

    // Identification.

    private void identify() {
        IdentifyData words = new IdentifyData(buffer());
        words.word(0, 0x85c0)
                .text(10, 20, options.serial())
                .text(23, 8, options.version())
                .text(27, 40, options.model())
                .word(48, 0x4000)
                .word(49, 0x0b00)
                .word(50, 0x4000)
                .word(53, 0x0006)
                .word(63, 0x0007 | multiwordMode << 8)
                .word(64, 0x0003);
        for (int i = 65; i <= 68; i++) {
            words.word(i, 120);
        }
        words.word(71, 30)
                .word(72, 30)
                .word(80, 0x01f0)
                .word(82, 0x4218)
                .word(83, 0x4000)
                .word(84, 0x4000 | (options.wwn() == 0 ? 0 : 0x0100))
                .word(85, 0x4218)
                .word(87, 0x4000 | (options.wwn() == 0 ? 0 : 0x0100))
                .word(88, 0x003f | ultraMode << 8)
                .word(93, 0x6001);
        for (int i = 0; i < 4; i++) {
            words.word(108 + i, (int) (options.wwn() >>> 48 - 16 * i));
        }
        words.checksum();
    }

    /** What people want to know. */
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("model", options.model());
        map.put("disc", discInserted ? discBytes / SECTOR_BYTES + " sectors" : "none");
        map.put("tray", trayOpen ? "open" : "closed");
        map.put("locked", locked);
        return map;
    }

    // State.

    /** Saved state of the drive; the disc is part of the configuration, except that the guest may have ejected it. */
    record Saved(
            byte[] packet,
            long discBytes,
            boolean discInserted,
            boolean trayOpen,
            boolean locked,
            int sense,
            int unitAttention,
            MediaEvent event,
            int multiwordMode,
            int ultraMode,
            Then then,
            boolean identifying,
            boolean packetDma,
            int byteLimit) {}

    @Override
    Record saveDrive() {
        return new Saved(
                packet.clone(),
                discBytes,
                discInserted,
                trayOpen,
                locked,
                sense,
                unitAttention,
                event,
                multiwordMode,
                ultraMode,
                then,
                identifying,
                packetDma,
                byteLimit);
    }

    @Override
    void restoreDrive(Record state) {
        if (!(state instanceof Saved saved) || saved.packet.length != PACKET_BYTES || saved.discBytes != discBytes) {
            throw BenchtopException.config(
                    id() + ": saved state is of another drive: allowed is a CD drive with a disc of " + discBytes
                            + " bytes");
        }
        System.arraycopy(saved.packet, 0, packet, 0, PACKET_BYTES);
        discInserted = saved.discInserted;
        trayOpen = saved.trayOpen;
        locked = saved.locked;
        sense = saved.sense;
        unitAttention = saved.unitAttention;
        event = saved.event;
        multiwordMode = saved.multiwordMode;
        ultraMode = saved.ultraMode;
        then = saved.then;
        identifying = saved.identifying;
        packetDma = saved.packetDma;
        byteLimit = saved.byteLimit;
    }
}
