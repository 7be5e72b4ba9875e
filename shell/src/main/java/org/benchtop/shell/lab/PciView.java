package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.benchtop.engine.config.Units;
import org.benchtop.engine.pci.PciFunctionCore;
import org.benchtop.spi.pci.Bar;

/**
 * The PCI bus as {@code lspci -v} shows it.
 *
 * @param functions by address
 */
public record PciView(List<Function> functions) {
    private static final int COMMAND = 0x04;
    private static final int STATUS = 0x06;
    private static final int CAPABILITY_POINTER = 0x34;
    private static final int INTERRUPT_LINE = 0x3c;
    private static final int STATUS_CAPABILITIES = 0x10;
    private static final int MAX_CAPABILITIES = 48;

    private static final Map<Integer, String> CLASSES = classes();
    private static final Map<Integer, String> CAPABILITIES = Map.of(
            0x01, "power management",
            0x05, "MSI",
            0x09, "vendor specific",
            0x10, "PCI Express",
            0x11, "MSI-X",
            0x12, "SATA",
            0x13, "advanced features");

    public PciView {
        functions = List.copyOf(functions);
    }

    private static Map<Integer, String> classes() {
        Map<Integer, String> names = new HashMap<>();
        names.put(0x0100, "SCSI controller");
        names.put(0x0101, "IDE controller");
        names.put(0x0104, "RAID controller");
        names.put(0x0106, "SATA controller");
        names.put(0x0107, "SAS controller");
        names.put(0x0108, "NVMe controller");
        names.put(0x0180, "mass storage controller");
        names.put(0x0200, "ethernet controller");
        names.put(0x0280, "network controller");
        names.put(0x0300, "VGA controller");
        names.put(0x0500, "RAM");
        names.put(0x0580, "memory controller");
        names.put(0x0600, "host bridge");
        names.put(0x0601, "ISA bridge");
        names.put(0x0604, "PCI bridge");
        names.put(0x0680, "bridge");
        names.put(0x0700, "serial controller");
        names.put(0x0780, "communication controller");
        names.put(0x0c03, "USB controller");
        names.put(0x0880, "system peripheral");
        names.put(0x00ff, "unclassified device");
        names.put(0xff80, "unassigned class");
        return names;
    }

    /**
     * One function.
     *
     * @param address as {@code lspci} prints it
     * @param device the id of the Benchtop device behind it
     * @param classCode class and subclass
     * @param className class and subclass in words
     * @param command the command register
     * @param status the status register
     * @param interruptPin 0 for none, 1 for INTA to 4 for INTD
     * @param interruptLine what the guest has noted as its interrupt
     */
    public record Function(
            String address,
            String device,
            int vendorId,
            int deviceId,
            int revision,
            int classCode,
            String className,
            int subsystemVendorId,
            int subsystemId,
            int command,
            int status,
            int interruptPin,
            int interruptLine,
            List<BarView> bars,
            List<CapabilityView> capabilities) {
        public Function {
            bars = List.copyOf(bars);
            capabilities = List.copyOf(capabilities);
        }

        /** {@code 1af4:1042}. */
        public String id() {
            return Hex.padded(vendorId, 4) + ":" + Hex.padded(deviceId, 4);
        }

        /** The command register in words. */
        public String commandFlags() {
            List<String> flags = new ArrayList<>();
            String[] names = {"I/O", "memory", "bus-master"};
            for (int i = 0; i < names.length; i++) {
                if ((command >>> i & 1) != 0) {
                    flags.add(names[i]);
                }
            }
            if ((command & 0x400) != 0) {
                flags.add("INTx-off");
            }
            return flags.isEmpty() ? "off" : String.join(" ", flags);
        }
    }

    /**
     * A base address register.
     *
     * @param kind {@code I/O}, {@code 32-bit} or {@code 64-bit}
     * @param address where it is decoded; empty while it is not
     */
    public record BarView(int index, String kind, boolean prefetchable, long sizeBytes, Optional<Long> address) {
        @Override
        public String toString() {
            return "BAR" + index + ": " + kind + (prefetchable ? " prefetchable" : "") + " "
                    + address.map(Hex::of).orElse("not decoded") + " (" + Units.formatSize(sizeBytes) + ")";
        }
    }

    /**
     * An entry of the capability list.
     *
     * @param offset in configuration space
     * @param detail what is known of it; may be empty
     */
    public record CapabilityView(int offset, int id, String name, String detail) {
        @Override
        public String toString() {
            return "[" + Hex.padded(offset, 2) + "] " + name + (detail.isEmpty() ? "" : ": " + detail);
        }
    }

    static PciView of(List<PciFunctionCore> functions) {
        return new PciView(functions.stream().map(PciView::function).toList());
    }

    private static Function function(PciFunctionCore f) {
        int classCode = (int) f.config(0x0a, 2);
        List<BarView> bars = new ArrayList<>();
        for (Bar bar : f.spec().bars()) {
            long address = f.barAddress(bar.index());
            String kind = switch (bar.kind()) {
                case IO -> "I/O";
                case MEMORY_32 -> "32-bit";
                case MEMORY_64 -> "64-bit";
            };
            bars.add(new BarView(
                    bar.index(),
                    kind,
                    bar.prefetchable(),
                    bar.sizeBytes(),
                    address < 0 ? Optional.empty() : Optional.of(address)));
        }
        return new Function(
                f.address().toString(),
                f.owner(),
                (int) f.config(0, 2),
                (int) f.config(2, 2),
                (int) f.config(8, 1),
                classCode,
                CLASSES.getOrDefault(classCode, "class " + Hex.padded(classCode, 4)),
                (int) f.config(0x2c, 2),
                (int) f.config(0x2e, 2),
                (int) f.config(COMMAND, 2),
                (int) f.config(STATUS, 2),
                (int) f.config(INTERRUPT_LINE + 1, 1),
                (int) f.config(INTERRUPT_LINE, 1),
                bars,
                capabilities(f));
    }

    private static List<CapabilityView> capabilities(PciFunctionCore f) {
        List<CapabilityView> list = new ArrayList<>();
        if ((f.config(STATUS, 2) & STATUS_CAPABILITIES) == 0) {
            return list;
        }
        int at = (int) f.config(CAPABILITY_POINTER, 1) & ~3;
        while (at >= 0x40 && list.size() < MAX_CAPABILITIES) {
            int id = (int) f.config(at, 1);
            list.add(new CapabilityView(
                    at, id, CAPABILITIES.getOrDefault(id, "capability " + Hex.padded(id, 2)), detail(f, at, id)));
            at = (int) f.config(at + 1, 1) & ~3;
        }
        return list;
    }

    private static String detail(PciFunctionCore f, int at, int id) {
        return switch (id) {
            case 0x05 -> {
                int control = (int) f.config(at + 2, 2);
                yield (1 << (control >>> 1 & 7)) + " vectors, " + ((control & 1) != 0 ? "enabled" : "off");
            }
            case 0x11 -> {
                int control = (int) f.config(at + 2, 2);
                long table = f.config(at + 4, 4);
                yield (control & 0x7ff) + 1 + " vectors in BAR" + (table & 7)
                        + ((control & 0x8000) != 0 ? ", enabled" : ", off")
                        + ((control & 0x4000) != 0 ? ", all masked" : "");
            }
            case 0x09 ->
                f.spec().vendorId() == 0x1af4
                        ? virtio((int) f.config(at + 3, 1)) + " in BAR" + f.config(at + 4, 1) + " at "
                                + Hex.of(f.config(at + 8, 4)) + ", " + Hex.of(f.config(at + 12, 4)) + " bytes"
                        : "";
            default -> "";
        };
    }

    /** Virtual I/O Device 1.2, 4.1.4. */
    private static String virtio(int type) {
        return switch (type) {
            case 1 -> "virtio common configuration";
            case 2 -> "virtio notifications";
            case 3 -> "virtio ISR status";
            case 4 -> "virtio device configuration";
            case 5 -> "virtio configuration access";
            case 8 -> "virtio shared memory";
            default -> "virtio structure " + type;
        };
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Function f : functions) {
            text.append(String.format(
                    Locale.ROOT,
                    "%s %s [%04x]: %s (rev %02x) %s%n",
                    f.address(),
                    f.className(),
                    f.classCode(),
                    f.id(),
                    f.revision(),
                    f.device()));
            text.append("    ").append(f.commandFlags());
            if (f.interruptPin() != 0) {
                text.append(", INT").append((char) ('A' + f.interruptPin() - 1)).append(" line ");
                text.append(f.interruptLine());
            }
            text.append('\n');
            f.bars().forEach(bar -> text.append("    ").append(bar).append('\n'));
            f.capabilities().forEach(c -> text.append("    ").append(c).append('\n'));
        }
        return text.toString().stripTrailing();
    }
}
