package org.benchtop.pc.legacy;

import static org.benchtop.pc.common.RegisterSpec.readOnly;
import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** The cells of the clock and of CMOS memory that have a meaning (Motorola MC146818A; IBM PC/AT layout). */
enum CmosRegister implements RegisterSpec.Table {
    SECONDS(readWrite(0x00, 1, 0, "MC146818A table 2")),
    SECONDS_ALARM(readWrite(0x01, 1, 0, "MC146818A table 2")),
    MINUTES(readWrite(0x02, 1, 0, "MC146818A table 2")),
    MINUTES_ALARM(readWrite(0x03, 1, 0, "MC146818A table 2")),
    HOURS(readWrite(0x04, 1, 0, "MC146818A table 2")),
    HOURS_ALARM(readWrite(0x05, 1, 0, "MC146818A table 2")),
    DAY_OF_WEEK(readWrite(0x06, 1, 1, "MC146818A table 2")),
    DAY_OF_MONTH(readWrite(0x07, 1, 1, "MC146818A table 2")),
    MONTH(readWrite(0x08, 1, 1, "MC146818A table 2")),
    YEAR(readWrite(0x09, 1, 0, "MC146818A table 2")),
    REGISTER_A(readWrite(0x0a, 1, 0x26, "MC146818A register A: UIP, divider, rate")),
    REGISTER_B(readWrite(0x0b, 1, 0x02, "MC146818A register B: SET, PIE, AIE, UIE, SQWE, DM, 24/12, DSE")),
    REGISTER_C(readOnly(0x0c, 1, 0, "MC146818A register C: IRQF, PF, AF, UF")),
    REGISTER_D(readOnly(0x0d, 1, 0x80, "MC146818A register D: VRT")),
    SHUTDOWN(readWrite(0x0f, 1, 0, "PC/AT: shutdown status")),
    EQUIPMENT(readWrite(0x14, 1, 0x06, "PC/AT: equipment")),
    BASE_MEMORY_LOW(readWrite(0x15, 1, 0x80, "PC/AT: base memory in KiB")),
    BASE_MEMORY_HIGH(readWrite(0x16, 1, 0x02, "PC/AT: base memory in KiB")),
    EXTENDED_MEMORY_LOW(readWrite(0x17, 1, 0, "PC/AT: memory above 1 MiB in KiB")),
    EXTENDED_MEMORY_HIGH(readWrite(0x18, 1, 0, "PC/AT: memory above 1 MiB in KiB")),
    EXTENDED_MEMORY2_LOW(readWrite(0x30, 1, 0, "PC/AT: memory above 1 MiB in KiB, as found by POST")),
    EXTENDED_MEMORY2_HIGH(readWrite(0x31, 1, 0, "PC/AT: memory above 1 MiB in KiB, as found by POST")),
    CENTURY(readWrite(0x32, 1, 0x20, "PC/AT: century; FADT CENTURY")),
    HIGH_MEMORY_LOW(readWrite(0x34, 1, 0, "SeaBIOS: memory above 16 MiB in 64 KiB")),
    HIGH_MEMORY_HIGH(readWrite(0x35, 1, 0, "SeaBIOS: memory above 16 MiB in 64 KiB")),
    BOOT_ORDER_LAST(readWrite(0x38, 1, 0x10, "SeaBIOS: third boot device and floppy check")),
    BOOT_ORDER(readWrite(0x3d, 1, 0x32, "SeaBIOS: first and second boot device")),
    MEMORY_4G_LOW(readWrite(0x5b, 1, 0, "SeaBIOS: memory above 4 GiB in 64 KiB")),
    MEMORY_4G_MIDDLE(readWrite(0x5c, 1, 0, "SeaBIOS: memory above 4 GiB in 64 KiB")),
    MEMORY_4G_HIGH(readWrite(0x5d, 1, 0, "SeaBIOS: memory above 4 GiB in 64 KiB")),
    CPUS(readWrite(0x5f, 1, 0, "SeaBIOS: number of vCPUs less one"));

    private final RegisterSpec row;

    CmosRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
