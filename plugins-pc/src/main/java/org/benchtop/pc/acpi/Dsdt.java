package org.benchtop.pc.acpi;

import static org.benchtop.pc.acpi.Aml.and;
import static org.benchtop.pc.acpi.Aml.andInto;
import static org.benchtop.pc.acpi.Aml.argument;
import static org.benchtop.pc.acpi.Aml.byteFields;
import static org.benchtop.pc.acpi.Aml.concat;
import static org.benchtop.pc.acpi.Aml.createDwordField;
import static org.benchtop.pc.acpi.Aml.define;
import static org.benchtop.pc.acpi.Aml.device;
import static org.benchtop.pc.acpi.Aml.eisaId;
import static org.benchtop.pc.acpi.Aml.giveBack;
import static org.benchtop.pc.acpi.Aml.integer;
import static org.benchtop.pc.acpi.Aml.method;
import static org.benchtop.pc.acpi.Aml.name;
import static org.benchtop.pc.acpi.Aml.operationRegion;
import static org.benchtop.pc.acpi.Aml.orInto;
import static org.benchtop.pc.acpi.Aml.packageOf;
import static org.benchtop.pc.acpi.Aml.scope;
import static org.benchtop.pc.acpi.Aml.store;
import static org.benchtop.pc.acpi.Aml.string;
import static org.benchtop.pc.acpi.Aml.when;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.pc.chipset.Piix3;
import org.benchtop.pc.chipset.Piix4Pm;
import org.benchtop.pc.common.IsaDescription;
import org.benchtop.spi.pci.PciWindows;

/** The AML of the board: processors, PCI root with its interrupt routing, ISA devices, soft off. */
final class Dsdt {
    /** Interrupts that a PIRQ link offers. */
    private static final int[] LINK_INTERRUPTS = {5, 10, 11};

    private static final int FW_CFG_PORT = 0x510;
    private static final int FW_CFG_PORTS = 12;
    private static final int PM_PORTS = 64;
    /** Where the interrupt number lies in an extended interrupt descriptor. */
    private static final int INTERRUPT_OFFSET = 5;

    private Dsdt() {}

    /** The body of the table, without header. */
    static byte[] build(AcpiBoard board) {
        return concat(
                define("\\_S5", packageOf(integer(0), integer(0), integer(0), integer(0))),
                scope("\\_SB", processors(board.cpus()), pciRoot(board), motherboard()));
    }

    private static byte[] processors(int cpus) {
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < cpus; i++) {
            all.add(device(String.format("C%03X", i), define("_HID", string("ACPI0007")), define("_UID", integer(i))));
        }
        return concat(all.toArray(byte[][]::new));
    }

    private static byte[] pciRoot(AcpiBoard board) {
        return device(
                "PCI0",
                define("_HID", eisaId("PNP0A03")),
                define("_UID", integer(0)),
                define("_CRS", windows(board.windows())),
                define("_PRT", interruptRouting()),
                isaBridge(board.devices()));
    }

    private static byte[] windows(PciWindows windows) {
        ResourceTemplate template = new ResourceTemplate()
                .busNumbers(0, 0xff)
                .io(0xcf8, 8)
                .ioWindow(0x0000, 0x0cf7)
                .ioWindow(0x0d00, 0xffff)
                .memoryWindow32(0xa0000, 0xbffff)
                .memoryWindow32(windows.memory32Base(), windows.memory32Base() + windows.memory32SizeBytes() - 1);
        if (windows.memory64SizeBytes() > 0) {
            template.memoryWindow64(windows.memory64Base(), windows.memory64Base() + windows.memory64SizeBytes() - 1);
        }
        return template.build();
    }

    private static byte[] interruptRouting() {
        List<byte[]> routes = new ArrayList<>();
        for (int slot = 1; slot < 32; slot++) {
            for (int pin = 0; pin < 4; pin++) {
                char link = (char) ('A' + Piix3.pirq(slot, pin));
                routes.add(packageOf(
                        integer((long) slot << 16 | 0xffff),
                        integer(pin),
                        name("\\_SB.PCI0.ISA.LNK" + link),
                        integer(0)));
            }
        }
        return packageOf(routes.toArray(byte[][]::new));
    }

    private static byte[] isaBridge(List<IsaDescription> devices) {
        List<byte[]> body = new ArrayList<>();
        body.add(define("_ADR", integer(0x00010000)));
        body.add(operationRegion("PIRQ", Aml.Space.PCI_CONFIG, 0x60, 4));
        body.add(byteFields("PIRQ", "PRQA", "PRQB", "PRQC", "PRQD"));
        for (int i = 0; i < 4; i++) {
            body.add(link((char) ('A' + i), i + 1));
        }
        for (IsaDescription device : devices) {
            body.add(isaDevice(device));
        }
        return device("ISA", body.toArray(byte[][]::new));
    }

    /** An interrupt link: its register holds the interrupt, bit 7 says that it is off. */
    private static byte[] link(char letter, int uid) {
        byte[] register = name("PRQ" + letter);
        return device(
                "LNK" + letter,
                define("_HID", eisaId("PNP0C0F")),
                define("_UID", integer(uid)),
                define(
                        "_PRS",
                        new ResourceTemplate().levelInterrupts(LINK_INTERRUPTS).build()),
                define("BUFR", new ResourceTemplate().levelInterrupts(0).build()),
                method("_STA", 0, when(and(register, integer(0x80)), giveBack(integer(0x09))), giveBack(integer(0x0b))),
                method("_DIS", 0, orInto(register, integer(0x80), register)),
                method(
                        "_CRS",
                        0,
                        createDwordField(name("BUFR"), INTERRUPT_OFFSET, "CIRQ"),
                        andInto(register, integer(0x0f), name("CIRQ")),
                        when(and(register, integer(0x80)), store(integer(0), name("CIRQ"))),
                        giveBack(name("BUFR"))),
                method(
                        "_SRS",
                        1,
                        createDwordField(argument(0), INTERRUPT_OFFSET, "SIRQ"),
                        store(name("SIRQ"), register)));
    }

    private static byte[] isaDevice(IsaDescription device) {
        ResourceTemplate resources = new ResourceTemplate();
        for (IsaDescription.Ports ports : device.ports()) {
            resources.io(ports.first(), ports.count());
        }
        resources.irq(device.irq());
        return device(
                device.name(),
                define("_HID", eisaId(device.hardwareId())),
                define("_UID", integer(device.uid())),
                define("_STA", integer(0x0f)),
                define("_CRS", resources.build()));
    }

    /** Ports that belong to no other device, so that the guest gives them to none, and the configuration device. */
    private static byte[] motherboard() {
        return concat(
                device(
                        "MBRD",
                        define("_HID", eisaId("PNP0C02")),
                        define("_UID", integer(0)),
                        define(
                                "_CRS",
                                new ResourceTemplate()
                                        .io(0x80, 1)
                                        .io(0x92, 1)
                                        .io(Piix4Pm.SMI_COMMAND_PORT, 2)
                                        .io(0x4d0, 2)
                                        .io(Piix4Pm.DEFAULT_BASE, PM_PORTS)
                                        .build())),
                device(
                        "FWCF",
                        define("_HID", string("QEMU0002")),
                        define("_UID", integer(0)),
                        define("_STA", integer(0x0b)),
                        define(
                                "_CRS",
                                new ResourceTemplate()
                                        .io(FW_CFG_PORT, FW_CFG_PORTS)
                                        .build())));
    }
}
