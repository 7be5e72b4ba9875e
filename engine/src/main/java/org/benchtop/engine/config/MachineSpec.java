package org.benchtop.engine.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.Option;
import org.benchtop.spi.cpu.CpuModel;

/**
 * What a machine is made of: the same content as its YAML. Immutable.
 *
 * @param name for messages and thread names
 * @param machine the board's type
 * @param accel the CPU engine with its options; the type {@code auto} takes the best usable one
 * @param cpus the number of vCPUs
 * @param cpu what CPU the guest sees
 * @param memory RAM
 * @param boot what it starts with
 * @param iothreads names of event loops
 * @param drives block backends by name
 * @param chardevs character backends by name
 * @param netdevs network backends by name
 * @param display the device that shows the guest's screen; the type {@code none} for none
 * @param devices what is plugged in, in order
 * @param plugins jars to load
 * @param onReboot what a guest's reset does
 * @param onPanic what a guest's crash does
 * @param baseDir the folder that relative paths start from
 * @param sources where plain values were written
 */
public record MachineSpec(
        String name,
        String machine,
        EntrySpec accel,
        int cpus,
        CpuModel cpu,
        MemorySpec memory,
        BootSpec boot,
        List<String> iothreads,
        Map<String, EntrySpec> drives,
        Map<String, EntrySpec> chardevs,
        Map<String, EntrySpec> netdevs,
        EntrySpec display,
        List<EntrySpec> devices,
        List<Path> plugins,
        OnReboot onReboot,
        OnPanic onPanic,
        Path baseDir,
        SourceMap sources) {
    /** The greatest number of vCPUs: the 8-bit APIC IDs without the broadcast one. */
    public static final int MAX_CPUS = 255;

    /** RAM where nothing is written. */
    public static final long DEFAULT_MEMORY_BYTES = 256L << 20;

    /** The id of the display among the devices. */
    public static final String DISPLAY = "display";

    /** The type of a display that is not there. */
    public static final String NO_DISPLAY = "none";

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}");

    /** What a guest's reset does. */
    public enum OnReboot {
        /** The machine starts again. */
        RESTART,
        /** The machine stops. */
        STOP,
    }

    /** What a guest's crash report does. */
    public enum OnPanic {
        /** The machine stops with an error. */
        STOP,
        /** The machine pauses, so that it can be looked at. */
        PAUSE,
        /** The guest goes on. */
        IGNORE,
    }

    public MachineSpec {
        checkName("the machine's name", name);
        if (cpus < 1 || cpus > MAX_CPUS) {
            throw BenchtopException.config("cpus: " + cpus + " is outside 1.." + MAX_CPUS);
        }
        iothreads = List.copyOf(iothreads);
        drives = Collections.unmodifiableMap(new LinkedHashMap<>(drives));
        chardevs = Collections.unmodifiableMap(new LinkedHashMap<>(chardevs));
        netdevs = Collections.unmodifiableMap(new LinkedHashMap<>(netdevs));
        devices = List.copyOf(devices);
        plugins = List.copyOf(plugins);
    }

    /** Whether a word can name a machine or an entry. */
    static boolean isName(String word) {
        return NAME.matcher(word).matches();
    }

    private static void checkName(String what, String word) {
        if (!isName(word)) {
            throw BenchtopException.config(what + " " + badName(word));
        }
    }

    static String badName(String word) {
        return "\"" + word + "\" is not a name (letters, digits, \"_\", \"-\" and \".\", at most 64)";
    }

    /** Starts a spec in Java. */
    public static MachineSpecBuilder named(String name) {
        return new MachineSpecBuilder(name);
    }

    /** A builder that starts with this spec. */
    public MachineSpecBuilder toBuilder() {
        return new MachineSpecBuilder(this);
    }

    /**
     * Reads a YAML file.
     *
     * @throws BenchtopException of kind CONFIG for the first mistake in it
     */
    public static MachineSpec load(Path file) {
        return MachineYaml.load(file).spec();
    }

    /** Reads YAML text; relative paths start from the current folder. */
    public static MachineSpec parse(String yaml) {
        return MachineYaml.parse(yaml, "yaml", Path.of("").toAbsolutePath()).spec();
    }

    /** The spec as YAML that reads back the same. */
    public String toYaml() {
        return SpecWriter.write(this);
    }

    /**
     * The id of each device, in the order of {@link #devices}: its own, or its type with a number, such as {@code
     * virtio-blk-pci.0}.
     */
    public List<String> deviceIds() {
        Set<String> taken = new TreeSet<>();
        devices.forEach(device -> device.id().ifPresent(taken::add));
        Map<String, Integer> next = new HashMap<>();
        List<String> ids = new ArrayList<>(devices.size());
        for (EntrySpec device : devices) {
            if (device.id().isPresent()) {
                ids.add(device.id().get());
                continue;
            }
            int number = next.getOrDefault(device.type(), 0);
            while (!taken.add(device.type() + "." + number)) {
                number++;
            }
            ids.add(device.type() + "." + number);
            next.put(device.type(), number + 1);
        }
        return List.copyOf(ids);
    }

    /** The keys of a machine that have a plain value, for schemas and documentation. */
    public static List<OptionField> plainOptions() {
        return OptionsShape.of(SpecReader.Scalars.class).fields();
    }

    /** What the options of this machine's entries are checked against. */
    public BindContext bindContext() {
        return new BindContext(
                baseDir,
                Map.of(
                        Option.Ref.DRIVE, drives.keySet(),
                        Option.Ref.CHARDEV, chardevs.keySet(),
                        Option.Ref.NETDEV, netdevs.keySet(),
                        Option.Ref.IOTHREAD, Collections.unmodifiableSet(new java.util.LinkedHashSet<>(iothreads))));
    }
}
