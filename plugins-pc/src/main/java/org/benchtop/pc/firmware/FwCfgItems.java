package org.benchtop.pc.firmware;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** The items of a configuration device by key, with the directory of named files. Immutable. */
final class FwCfgItems {
    static final int SIGNATURE = 0x0000;
    static final int ID = 0x0001;
    static final int UUID = 0x0002;
    static final int RAM_SIZE = 0x0003;
    static final int NOGRAPHIC = 0x0004;
    static final int CPUS = 0x0005;
    static final int BOOT_MENU = 0x000e;
    static final int MAX_CPUS = 0x000f;
    static final int DIRECTORY = 0x0019;
    static final int FIRST_FILE = 0x0020;
    static final int IRQ0_OVERRIDE = 0x8002;

    private static final int NAME_BYTES = 56;
    private static final byte[] NOTHING = {};

    private final Map<Integer, byte[]> items;

    /** Items by key and files by name. */
    FwCfgItems(Map<Integer, byte[]> fixed, TreeMap<String, byte[]> files) {
        Map<Integer, byte[]> all = new HashMap<>(fixed);
        ByteArrayOutputStream directory = new ByteArrayOutputStream();
        directory.writeBytes(ByteBuffer.allocate(4).putInt(files.size()).array());
        int key = FIRST_FILE;
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            ByteBuffer entry = ByteBuffer.allocate(8 + NAME_BYTES);
            entry.putInt(file.getValue().length).putShort((short) key).putShort((short) 0);
            entry.put(file.getKey().getBytes(StandardCharsets.US_ASCII));
            directory.writeBytes(entry.array());
            all.put(key, file.getValue());
            key++;
        }
        all.put(DIRECTORY, directory.toByteArray());
        items = Map.copyOf(all);
    }

    /** The item of a key; empty if there is none. */
    byte[] item(int key) {
        byte[] found = items.get(key);
        return found == null ? NOTHING : found;
    }

    /** Refuses a file name that does not fit into the directory. */
    static void checkName(String name) {
        boolean ascii = name.chars().allMatch(c -> c > ' ' && c < 0x7f);
        if (name.isEmpty() || name.length() >= NAME_BYTES || !ascii) {
            throw new IllegalArgumentException("fw_cfg file name \"" + name + "\" must be 1 to " + (NAME_BYTES - 1)
                    + " printable ASCII characters without spaces");
        }
    }

    static byte[] little(long value, int size) {
        byte[] out = new byte[size];
        for (int i = 0; i < size; i++) {
            out[i] = (byte) (value >>> 8 * i);
        }
        return out;
    }

    @Override
    public String toString() {
        return Arrays.toString(items.keySet().stream().sorted().toArray());
    }
}
