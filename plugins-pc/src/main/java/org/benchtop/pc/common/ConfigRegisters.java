package org.benchtop.pc.common;

import org.benchtop.spi.device.Register;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.pci.PciFunction;

/** Shows registers that live in a PCI function's configuration space as a table. */
public final class ConfigRegisters<R extends Enum<R> & Register> implements RegisterMap.Handler<R> {
    private final PciFunction function;

    private ConfigRegisters(PciFunction function) {
        this.function = function;
    }

    /** The table of an enum. */
    public static <R extends Enum<R> & Register> RegisterMap<R> table(
            String name, Class<R> type, PciFunction function) {
        return new RegisterMap<>(name, type, new ConfigRegisters<R>(function));
    }

    /** Sets all registers of a table to their reset values. */
    public static <R extends Enum<R> & Register> void reset(RegisterMap<R> table, PciFunction function) {
        for (R register : table.registers()) {
            function.config(register.offset(), register.size(), register.resetValue());
        }
    }

    @Override
    public long read(R register) {
        return function.config(register.offset(), register.size());
    }

    @Override
    public void write(R register, long value) {
        function.config(register.offset(), register.size(), value);
    }

    @Override
    public long peek(R register) {
        return read(register);
    }
}
