package org.benchtop.spi.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.benchtop.spi.bus.MmioDevice;
import org.benchtop.spi.bus.PioDevice;

/**
 * Turns a table of registers into guest accesses: splits wide ones over neighbours and widens narrow ones.
 *
 * <p>An access that covers several registers reaches each in ascending order. A narrow read of a wide register takes
 * its bytes out of a full read; a narrow write is merged into the value that {@link Handler#peek} gives. Bytes that
 * belong to no register read as 0 and swallow writes. Allocates nothing per access.
 *
 * @param <R> the enum of registers
 */
public final class RegisterMap<R extends Enum<R> & Register> implements PioDevice, MmioDevice {
    private final String name;
    private final List<R> registers;
    private final R[] byOffset;
    private final Handler<R> handler;

    /** The device's side of a table. */
    public interface Handler<R> {
        /** A guest read. */
        long read(R register);

        /** A guest write of the whole register. */
        void write(R register, long value);

        /** The value without the side effects of a read, for people and for merging narrow writes. */
        long peek(R register);
    }

    /**
     * A table.
     *
     * @param name for people
     * @param type the enum; registers of it that overlap are refused
     */
    public RegisterMap(String name, Class<R> type, Handler<R> handler) {
        this(name, List.of(type.getEnumConstants()), handler);
    }

    /** A table of some of an enum's registers. */
    public RegisterMap(String name, List<R> registers, Handler<R> handler) {
        if (registers.isEmpty()) {
            throw new IllegalArgumentException("register map " + name + " is empty");
        }
        this.name = name;
        this.handler = handler;
        List<R> sorted = new ArrayList<>(registers);
        sorted.sort(Comparator.comparingInt(Register::offset));
        this.registers = List.copyOf(sorted);
        R last = sorted.getLast();
        @SuppressWarnings("unchecked")
        R[] table = (R[])
                java.lang.reflect.Array.newInstance(sorted.getFirst().getDeclaringClass(), last.offset() + last.size());
        this.byOffset = table;
        for (R register : sorted) {
            for (int i = register.offset(); i < register.offset() + register.size(); i++) {
                if (table[i] != null) {
                    throw new IllegalArgumentException("registers " + table[i].name() + " and " + register.name()
                            + " of " + name + " overlap at offset 0x" + Integer.toHexString(i));
                }
                table[i] = register;
            }
        }
    }

    /** The name of the table. */
    public String name() {
        return name;
    }

    /** All registers by ascending offset. */
    public List<R> registers() {
        return registers;
    }

    /** The value of a register without side effects. */
    public long peek(R register) {
        return handler.peek(register) & mask(register.size());
    }

    /** The length of the table in bytes. */
    public int sizeBytes() {
        return byOffset.length;
    }

    @Override
    public long read(long offset, int size) {
        if (offset >= 0 && offset < byOffset.length) {
            R register = byOffset[(int) offset];
            if (register != null && register.offset() == offset && register.size() == size) {
                return register.access() == Register.Access.WRITE_ONLY ? 0 : handler.read(register) & mask(size);
            }
        }
        return readSplit(offset, size);
    }

    private long readSplit(long offset, int size) {
        long value = 0;
        long end = offset + size;
        long at = offset;
        while (at < end) {
            R register = at >= 0 && at < byOffset.length ? byOffset[(int) at] : null;
            if (register == null) {
                at++;
                continue;
            }
            long whole = register.access() == Register.Access.WRITE_ONLY
                    ? 0
                    : handler.read(register) & mask(register.size());
            long stop = Math.min(end, (long) register.offset() + register.size());
            long part = whole >>> 8 * (at - register.offset()) & mask((int) (stop - at));
            value |= part << 8 * (at - offset);
            at = stop;
        }
        return value;
    }

    @Override
    public void write(long offset, int size, long value) {
        if (offset >= 0 && offset < byOffset.length) {
            R register = byOffset[(int) offset];
            if (register != null && register.offset() == offset && register.size() == size) {
                if (register.access() != Register.Access.READ_ONLY) {
                    handler.write(register, value & mask(size));
                }
                return;
            }
        }
        writeSplit(offset, size, value);
    }

    private void writeSplit(long offset, int size, long value) {
        long end = offset + size;
        long at = offset;
        while (at < end) {
            R register = at >= 0 && at < byOffset.length ? byOffset[(int) at] : null;
            if (register == null) {
                at++;
                continue;
            }
            long stop = Math.min(end, (long) register.offset() + register.size());
            if (register.access() != Register.Access.READ_ONLY) {
                int shift = (int) (8 * (at - register.offset()));
                long partMask = mask((int) (stop - at));
                long part = value >>> 8 * (at - offset) & partMask;
                boolean whole = stop - at == register.size();
                long old = whole ? 0 : handler.peek(register) & mask(register.size());
                handler.write(register, old & ~(partMask << shift) | part << shift);
            }
            at = stop;
        }
    }

    private static long mask(int size) {
        return size >= 8 ? -1L : (1L << 8 * size) - 1;
    }

    @Override
    public String toString() {
        return name + Arrays.toString(registers.toArray());
    }
}
