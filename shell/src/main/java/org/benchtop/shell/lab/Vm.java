package org.benchtop.shell.lab;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.MachineState;
import org.benchtop.engine.asm.Disassembler;
import org.benchtop.engine.bus.RangeMap;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.Units;
import org.benchtop.engine.memory.PhysicalMap;
import org.benchtop.engine.stats.StatsSnapshot;
import org.benchtop.guests.GuestImage;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryRegion;

/**
 * A live machine. Every method may be called from any thread and in any state; where the state does not allow it, a
 * {@link BenchtopException} says so in one line. Methods that look at vCPUs or devices hold a running machine for some
 * microseconds. {@link #close} releases everything and may be called again; consoles, counters and captures stay
 * readable.
 */
public final class Vm implements AutoCloseable {
    /** How long {@link #step} waits for an instruction to end. */
    private static final Duration STEP_TIMEOUT = Duration.ofSeconds(5);

    private static final Duration SCREEN_PERIOD = Duration.ofMillis(20);
    private static final int MAX_CAPTURE = 256 << 20;
    private static final int DEFAULT_CAPTURE = 256;
    private static final int SEARCH_CHUNK = 1 << 20;
    private static final int PAGE = 4096;
    private static final int MAX_INSTRUCTIONS = 1_000_000;

    private final Machine machine;
    private final EventHub hub;
    private final Supplier<Optional<GuestImage>> program;
    private final Runnable onClose;
    private final Map<String, VmConsole> consoles = new LinkedHashMap<>();
    private final Map<Integer, CpuState> lastCpu = new HashMap<>();
    private StatsSnapshot lastStats;
    private boolean statsSeen;

    /** {@code program} is the embedded guest program that it boots, if it does; asked when code is shown. */
    Vm(Machine machine, Supplier<Optional<GuestImage>> program, Runnable onClose) {
        this.machine = machine;
        this.program = program;
        this.onClose = onClose;
        this.hub = new EventHub(machine);
        this.lastStats = machine.stats();
        machine.observe(Optional.of(hub));
        machine.spec()
                .chardevs()
                .keySet()
                .forEach(name -> machine.chardev(name)
                        .flatMap(chardev -> chardev.console())
                        .ifPresent(buffer -> consoles.put(name, new VmConsole(machine, name, buffer))));
    }

    /** The machine of the engine. */
    public Machine machine() {
        return machine;
    }

    /** Its name. */
    public String name() {
        return machine.name();
    }

    /** What it was made from. */
    public MachineSpec spec() {
        return machine.spec();
    }

    /** Where it is in its life. */
    public MachineState state() {
        return machine.state();
    }

    /** Starts it, or lets it go on after {@link #pause}; nothing happens if it runs. */
    public Vm start() {
        machine.start();
        return this;
    }

    /** Holds vCPUs and devices; returns when nothing moves. */
    public Vm pause() {
        machine.pause();
        return this;
    }

    /** Goes on after {@link #pause}. */
    public Vm resume() {
        machine.resume();
        return this;
    }

    /** Presses the reset button. */
    public Vm reset() {
        machine.reset();
        return this;
    }

    /**
     * Freezes what a drive holds and goes on in a new qcow2 image over it, without stopping the guest: see {@link
     * Machine#snapshotDrive}.
     *
     * @param drive a drive of type {@code file}, {@code qcow2} or {@code phy}
     * @param overlay the new image; must not exist
     */
    public Vm snapshot(String drive, Path overlay) {
        machine.snapshotDrive(drive, overlay);
        return this;
    }

    /** Stops it for good; it can be inspected, and started again from reset. */
    public Vm stop() {
        machine.stop();
        return this;
    }

    /** Releases it: vCPUs, threads, descriptors, memory. */
    @Override
    public void close() {
        machine.close();
        hub.close();
        onClose.run();
    }

    /** Executes one instruction of vCPU 0 and stays paused. */
    public CpuState step() throws InterruptedException {
        return step(1);
    }

    /**
     * Executes some instructions of vCPU 0 and stays paused.
     *
     * @return the registers afterwards; those that the last instruction has changed are marked
     * @throws BenchtopException of kind GUEST if an instruction does not end, such as a halt without an interrupt
     */
    public CpuState step(int instructions) throws InterruptedException {
        return step(0, instructions);
    }

    /** Executes some instructions of one vCPU and stays paused. */
    public CpuState step(int vcpu, int instructions) throws InterruptedException {
        checkVcpu(vcpu);
        if (instructions < 1) {
            throw BenchtopException.config("step: " + instructions + " instructions");
        }
        for (int i = 0; i < instructions; i++) {
            if (i == instructions - 1) {
                machine.whileHeld(() -> capture(vcpu));
            }
            if (!machine.step(vcpu, STEP_TIMEOUT)) {
                throw BenchtopException.of(
                        ErrorKind.GUEST,
                        "machine " + name() + ": vcpu" + vcpu + " did not complete an instruction at "
                                + Hex.of(regs(vcpu).get("rip")) + " within "
                                + Units.formatNanos(STEP_TIMEOUT.toNanos())
                                + machine.exit()
                                        .map(exit -> ": " + exit.describe())
                                        .orElse(""));
            }
        }
        return regs(vcpu);
    }

    private void checkVcpu(int vcpu) {
        int count = spec().cpus();
        if (vcpu < 0 || vcpu >= count) {
            throw BenchtopException.config(
                    "machine " + name() + " has no vcpu" + vcpu + " (vCPUs: 0.." + (count - 1) + ")");
        }
    }

    /**
     * Stops vCPUs before they execute the instruction at an address; then {@link #awaitStop} returns.
     *
     * @param virtualAddresses at most 4 where the CPU engine uses debug registers; none removes all
     * @throws BenchtopException of kind UNSUPPORTED if a program runs (ring 3) and this host's KVM stops none
     */
    public Vm breakpoints(long... virtualAddresses) {
        return machine.whileHeld(() -> {
            machine.vcpus().forEach(vcpu -> vcpu.breakpoints(virtualAddresses));
            return this;
        });
    }

    /**
     * Calls back before each execution of the instruction at an address, until the result is closed. On the software CPU
     * only; other code runs as fast as without.
     *
     * @param action runs on the vCPU's thread while the guest waits: it may look at memory and at what it is given, but
     *     not call what waits for vCPUs ({@code regs}, {@code pause})
     */
    public AutoCloseable onExec(long virtualAddress, Consumer<GuestExecution> action) {
        return new CodeHooks(machine).onExec(virtualAddress, action);
    }

    /** Calls back before each write to a range of virtual addresses, as {@link #onExec} does. */
    public AutoCloseable onWrite(long virtualAddress, long lengthBytes, Consumer<GuestAccess> action) {
        return new CodeHooks(machine).onAccess(virtualAddress, lengthBytes, false, true, action);
    }

    /** Calls back before each read of a range of virtual addresses, as {@link #onExec} does. */
    public AutoCloseable onRead(long virtualAddress, long lengthBytes, Consumer<GuestAccess> action) {
        return new CodeHooks(machine).onAccess(virtualAddress, lengthBytes, true, false, action);
    }

    /**
     * Calls back before every instruction, as {@link #onExec} does, until the result is closed: {@code
     * vm.trace(System.out::println)}. Also gives JFR events {@code benchtop.Instruction} where they are enabled.
     */
    public AutoCloseable trace(Consumer<GuestExecution> action) {
        return new CodeHooks(machine).trace(action);
    }

    /** Begins to count instructions, for {@link #instructionMix()}; the software CPU only, without translation meanwhile. */
    public Vm countInstructions() {
        new CodeHooks(machine).count();
        return this;
    }

    /** What was executed since {@link #countInstructions}; ends the counting. */
    public InstructionMix instructionMix() {
        return new CodeHooks(machine).mix();
    }

    /** Counts what the software CPU executes for some time, or until the machine stops. */
    public InstructionMix instructionMix(Duration time) throws InterruptedException {
        return new CodeHooks(machine).mix(time);
    }

    /** Waits until a breakpoint has paused it; empty if that did not happen in time or it has stopped. */
    public Optional<CpuState> awaitStop(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (System.nanoTime() < deadline && machine.exit().isEmpty()) {
            Optional<Machine.DebugStop> stop = machine.debugStop();
            if (stop.isPresent() && state() == MachineState.PAUSED) {
                return Optional.of(regs(stop.get().vcpu()));
            }
            Thread.sleep(1);
        }
        return Optional.empty();
    }

    /** Waits until the guest has ended or the machine was stopped. */
    public MachineExit awaitExit() throws InterruptedException {
        return machine.awaitExit();
    }

    /**
     * Waits until the guest has ended or the machine was stopped.
     *
     * @throws BenchtopException of kind GUEST if it still runs when the time is up
     */
    public MachineExit awaitExit(Duration timeout) throws InterruptedException {
        return machine.awaitExit(timeout)
                .orElseThrow(() -> BenchtopException.of(
                        ErrorKind.GUEST,
                        "machine " + name() + " has not stopped within " + Units.formatNanos(timeout.toNanos())));
    }

    /** How it stopped, if it has. */
    public Optional<MachineExit> exit() {
        return machine.exit();
    }

    /** The first console. */
    public VmConsole console() {
        return consoles.values().stream()
                .findFirst()
                .orElseThrow(() -> BenchtopException.config("machine " + name()
                        + " has no console that scripts can read (a chardev of type memory with an isa-serial)"));
    }

    /** A console by the name of its chardev. */
    public VmConsole console(String chardev) {
        VmConsole console = consoles.get(chardev);
        if (console == null) {
            throw BenchtopException.config("machine " + name() + " has no console \"" + chardev + "\" (consoles: "
                    + String.join(", ", consoles.keySet()) + ")");
        }
        return console;
    }

    /**
     * What the display shows now.
     *
     * @throws BenchtopException of kind CONFIG if the machine has no display
     */
    public Screen screen() {
        return machine.whileOpen(() -> new Screen(
                name(),
                machine.screen()
                        .orElseThrow(() -> BenchtopException.config(
                                "machine " + name() + " has no display (display: vga-text gives it one)"))
                        .content()));
    }

    /**
     * Waits until the display shows a text that matches.
     *
     * @param regex a regular expression, found anywhere on the screen; {@code ^} and {@code $} match at lines
     * @param timeout how long at most
     * @throws BenchtopException of kind GUEST, with the screen, if the time was up or the machine has stopped
     */
    public Screen expectScreen(String regex, Duration timeout) throws InterruptedException {
        Pattern pattern = Pattern.compile(regex, Pattern.MULTILINE);
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            boolean over = machine.exit().isPresent();
            Screen now = screen();
            if (pattern.matcher(now.text()).find()) {
                return now;
            }
            if (over || System.nanoTime() > deadline) {
                throw BenchtopException.of(
                        ErrorKind.GUEST,
                        "screen of " + name() + ": nothing matches \"" + regex + "\": "
                                + machine.exit()
                                        .map(exit -> "the machine has stopped (" + exit.describe() + ")")
                                        .orElse("not within " + Units.formatNanos(timeout.toNanos()))
                                + "; it shows \"" + now.text().replace("\n", "\\n") + "\"");
            }
            Thread.sleep(SCREEN_PERIOD);
        }
    }

    /** All registers of vCPU 0. */
    public CpuState regs() {
        return regs(0);
    }

    /** All registers of a vCPU; those that differ from the capture before are marked. */
    public CpuState regs(int vcpu) {
        checkVcpu(vcpu);
        return machine.whileHeld(() -> capture(vcpu));
    }

    private CpuState capture(int vcpu) {
        synchronized (lastCpu) {
            CpuState now = CpuReader.read(name(), machine.vcpus().get(vcpu), lastCpu.get(vcpu));
            lastCpu.put(vcpu, now);
            return now;
        }
    }

    /** 256 bytes of physical memory. */
    public MemoryView mem(long gpa) {
        return mem(gpa, DEFAULT_CAPTURE);
    }

    /**
     * A capture of physical memory: RAM, and ROM where it is mapped.
     *
     * @param gpa guest physical address
     * @param lengthBytes at most 256 MiB
     * @throws BenchtopException of kind CONFIG, naming the first address without memory, if the range has a hole
     */
    public MemoryView mem(long gpa, long lengthBytes) {
        int length = checkLength(lengthBytes);
        MemoryView.Source source = new MemoryView.Source() {
            @Override
            public byte[] read(long address, int bytes) {
                return machine.whileOpen(() -> physical(address, bytes));
            }

            @Override
            public void write(long address, byte[] content) {
                Vm.this.write(address, content);
            }
        };
        return new MemoryView(name(), gpa, source.read(gpa, length), source);
    }

    /** 256 bytes as vCPU 0 sees them through its page tables. */
    public MemoryView virt(long address) {
        return virt(address, DEFAULT_CAPTURE);
    }

    /** A capture of memory as vCPU 0 sees it through its page tables. */
    public MemoryView virt(long address, long lengthBytes) {
        int length = checkLength(lengthBytes);
        MemoryView.Source source = new MemoryView.Source() {
            @Override
            public byte[] read(long at, int bytes) {
                return machine.whileHeld(() -> virtual(0, at, bytes, false));
            }

            @Override
            public void write(long at, byte[] content) {
                machine.whileHeld(() -> {
                    writeVirtual(at, content);
                    return content;
                });
            }
        };
        return new MemoryView(name(), address, source.read(address, length), source);
    }

    private int checkLength(long lengthBytes) {
        if (lengthBytes < 0 || lengthBytes > MAX_CAPTURE) {
            throw BenchtopException.config("a capture of " + lengthBytes + " bytes is outside 0.." + MAX_CAPTURE);
        }
        return (int) lengthBytes;
    }

    private byte[] physical(long gpa, int length) {
        byte[] bytes = new byte[length];
        int done = 0;
        List<PhysicalMap.Flat> map = machine.physicalMap();
        while (done < length) {
            long at = gpa + done;
            PhysicalMap.Flat flat = map.stream()
                    .filter(f -> at >= f.gpa() && at < f.gpa() + f.sizeBytes())
                    .findFirst()
                    .orElseThrow(() -> BenchtopException.config("there is no memory at " + Hex.of(at) + " of machine "
                            + name() + " (memory: " + ranges(map) + ")"));
            int n = (int) Math.min(length - done, flat.gpa() + flat.sizeBytes() - at);
            MemorySegment.copy(flat.memory(), ValueLayout.JAVA_BYTE, at - flat.gpa(), bytes, done, n);
            done += n;
        }
        return bytes;
    }

    private static String ranges(List<PhysicalMap.Flat> map) {
        return String.join(
                ", ",
                map.stream()
                        .map(f -> Hex.of(f.gpa()) + ".." + Hex.of(f.gpa() + f.sizeBytes() - 1))
                        .toList());
    }

    /** With {@code partly}, ends at the first page that is not there. */
    private byte[] virtual(int vcpu, long address, int length, boolean partly) {
        PageTables tables = tables(vcpu);
        byte[] bytes = new byte[length];
        int done = 0;
        while (done < length) {
            long at = address + done;
            int n = (int) Math.min(length - done, PAGE - (at & PAGE - 1));
            OptionalLong gpa = tables.translate(at);
            if (gpa.isEmpty() && partly) {
                return java.util.Arrays.copyOf(bytes, done);
            }
            long physical = gpa.orElseThrow(() -> BenchtopException.config("virtual address " + Hex.of(at)
                    + " of machine " + name() + ": " + tables.walk(at).outcome()));
            if (partly && done > 0 && !isMemory(physical)) {
                return java.util.Arrays.copyOf(bytes, done);
            }
            System.arraycopy(physical(physical, n), 0, bytes, done, n);
            done += n;
        }
        return bytes;
    }

    private boolean isMemory(long gpa) {
        return machine.physicalMap().stream().anyMatch(f -> gpa >= f.gpa() && gpa < f.gpa() + f.sizeBytes());
    }

    private void writeVirtual(long address, byte[] content) {
        PageTables tables = tables(0);
        int done = 0;
        while (done < content.length) {
            long at = address + done;
            int n = (int) Math.min(content.length - done, PAGE - (at & PAGE - 1));
            long gpa = tables.translate(at)
                    .orElseThrow(() -> BenchtopException.config("virtual address " + Hex.of(at) + " of machine "
                            + name() + ": " + tables.walk(at).outcome()));
            writePhysical(gpa, java.util.Arrays.copyOfRange(content, done, done + n));
            done += n;
        }
    }

    private PageTables tables(int vcpu) {
        return new PageTables(machine.memory(), machine.vcpus().get(vcpu).specialRegisters());
    }

    /** Writes bytes into RAM. */
    public Vm write(long gpa, byte[] bytes) {
        return machine.whileOpen(() -> {
            writePhysical(gpa, bytes);
            return this;
        });
    }

    private void writePhysical(long gpa, byte[] bytes) {
        try {
            machine.memory().write(gpa, bytes, 0, bytes.length);
        } catch (GuestFault e) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    "cannot write " + bytes.length + " bytes at " + Hex.of(gpa) + " of machine " + name()
                            + ": not RAM (memory: " + ranges(machine.physicalMap()) + ")",
                    e);
        }
    }

    /** Reads a byte of physical memory. */
    public int read8(long gpa) {
        return mem(gpa, 1).u8(gpa);
    }

    /** Reads 16 bits of physical memory. */
    public int read16(long gpa) {
        return mem(gpa, 2).u16(gpa);
    }

    /** Reads 32 bits of physical memory. */
    public long read32(long gpa) {
        return mem(gpa, 4).u32(gpa);
    }

    /** Reads 64 bits of physical memory. */
    public long read64(long gpa) {
        return mem(gpa, 8).u64(gpa);
    }

    /** Writes a byte of RAM. */
    public Vm write8(long gpa, int value) {
        mem(gpa, 1).write8(gpa, value);
        return this;
    }

    /** Writes 16 bits of RAM. */
    public Vm write16(long gpa, int value) {
        mem(gpa, 2).write16(gpa, value);
        return this;
    }

    /** Writes 32 bits of RAM. */
    public Vm write32(long gpa, long value) {
        mem(gpa, 4).write32(gpa, value);
        return this;
    }

    /** Writes 64 bits of RAM. */
    public Vm write64(long gpa, long value) {
        mem(gpa, 8).write64(gpa, value);
        return this;
    }

    /** Guest physical addresses in RAM where a byte sequence begins, at most 10,000. */
    public List<Long> search(byte[] pattern) {
        List<Long> found = new ArrayList<>();
        if (pattern.length == 0 || pattern.length > SEARCH_CHUNK) {
            throw BenchtopException.config(
                    "search: a pattern of " + pattern.length + " bytes is outside 1.." + SEARCH_CHUNK);
        }
        for (MemoryRegion region : machine.memory().regions()) {
            for (long at = 0; at < region.sizeBytes() && found.size() < 10_000; at += SEARCH_CHUNK) {
                long gpa = region.gpa() + at;
                int n = (int) Math.min(SEARCH_CHUNK + pattern.length - 1, region.sizeBytes() - at);
                byte[] chunk = machine.whileOpen(() -> physical(gpa, n));
                found.addAll(MemoryView.find(chunk, pattern, gpa));
            }
        }
        return found;
    }

    /** Guest physical addresses in RAM where a text begins (UTF-8), at most 10,000. */
    public List<Long> search(String text) {
        return search(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    /** The next ten instructions of vCPU 0. */
    public Disassembly disasm() {
        return disasm(10);
    }

    /** The next instructions of vCPU 0. */
    public Disassembly disasm(int instructions) {
        return code(0, OptionalLong.empty(), instructions);
    }

    /**
     * Instructions at an address, as vCPU 0 would execute them in its present mode.
     *
     * @param address linear address, through the page tables where paging is on
     * @throws BenchtopException of kind CONFIG if there is no memory
     */
    public Disassembly disasm(long address, int instructions) {
        return code(0, OptionalLong.of(address), instructions);
    }

    /** Instructions at an address, as a vCPU would execute them in its present mode. */
    public Disassembly disasm(int vcpu, long address, int instructions) {
        return code(vcpu, OptionalLong.of(address), instructions);
    }

    private Disassembly code(int vcpu, OptionalLong from, int instructions) {
        checkVcpu(vcpu);
        if (instructions < 1 || instructions > MAX_INSTRUCTIONS) {
            throw BenchtopException.config(
                    "disasm: " + instructions + " instructions are outside 1.." + MAX_INSTRUCTIONS);
        }
        Optional<GuestImage> image = program.get();
        return machine.whileHeld(() -> {
            Vcpu cpu = machine.vcpus().get(vcpu);
            SpecialRegisters special = cpu.specialRegisters();
            int bits = CpuReader.mode(special).bits();
            long rip = cpu.registers().rip();
            long current = bits == 64 ? rip : special.cs().base() + rip & 0xffff_ffffL;
            long address = from.orElse(current);
            byte[] bytes = virtual(vcpu, address, instructions * Disassembler.MAX_LENGTH, true);
            if (bytes.length == 0) {
                throw BenchtopException.config("virtual address " + Hex.of(address) + " of machine " + name() + ": "
                        + tables(vcpu).walk(address).outcome());
            }
            return Disassembly.of(
                    Disassembler.decodeAll(bytes, address, bits, instructions), bits, OptionalLong.of(current), image);
        });
    }

    /** How vCPU 0 translates an address. */
    public PageWalk pageWalk(long virtualAddress) {
        return pageWalk(0, virtualAddress);
    }

    /** How a vCPU translates an address. */
    public PageWalk pageWalk(int vcpu, long virtualAddress) {
        checkVcpu(vcpu);
        return machine.whileHeld(() -> tables(vcpu).walk(virtualAddress));
    }

    /** Everything that vCPU 0 has mapped. */
    public PageMap pageTables() {
        return pageTables(0);
    }

    /** Everything that a vCPU has mapped. */
    public PageMap pageTables(int vcpu) {
        checkVcpu(vcpu);
        return machine.whileHeld(() -> tables(vcpu).map());
    }

    /** The PCI bus. */
    public PciView pci() {
        return machine.whileOpen(() -> PciView.of(machine.pciBus().functions()));
    }

    /** All devices and backends with their live state. */
    public DeviceTree devices() {
        return machine.whileOpen(() -> {
            List<DeviceView> views = new ArrayList<>();
            StatsSnapshot stats = machine.stats();
            machine.devices().forEach((id, device) -> views.add(view(id, device, stats)));
            Map<String, String> backends = new TreeMap<>();
            MachineSpec spec = spec();
            spec.drives()
                    .forEach((name, entry) -> backends.put(
                            "drive " + name,
                            machine.drive(name).map(d -> d.describe()).orElse(entry.type())));
            spec.chardevs()
                    .forEach((name, entry) -> backends.put(
                            "chardev " + name,
                            machine.chardev(name).map(c -> c.describe()).orElse(entry.type())));
            spec.netdevs().forEach((name, entry) -> backends.put("netdev " + name, entry.type()));
            return new DeviceTree(name(), views, backends);
        });
    }

    /** One device with its live state. */
    public DeviceView device(String id) {
        return machine.whileOpen(() -> {
            Device device = machine.devices().get(id);
            if (device == null) {
                throw BenchtopException.config("machine " + name() + " has no device \"" + id + "\" (devices: "
                        + String.join(", ", machine.devices().keySet()) + ")");
            }
            return view(id, device, machine.stats());
        });
    }

    private DeviceView view(String id, Device device, StatsSnapshot stats) {
        List<DeviceView.Table> tables = new ArrayList<>();
        for (RegisterMap<?> map : device.registers()) {
            tables.add(table(map));
        }
        StatsSnapshot.Entry entry = stats.entries().get(id);
        return new DeviceView(
                id,
                machine.deviceType(id).orElse(""),
                places(id),
                tables,
                device.inspect(),
                entry == null ? Map.of() : entry.values());
    }

    private static <R extends Enum<R> & org.benchtop.spi.device.Register> DeviceView.Table table(RegisterMap<R> map) {
        return new DeviceView.Table(
                map.name(),
                map.registers().stream()
                        .map(r -> new DeviceView.Value(
                                r.name(), r.offset(), r.size(), map.peek(r), r.resetValue(), r.access(), r.spec()))
                        .toList());
    }

    private List<String> places(String id) {
        List<String> places = new ArrayList<>();
        machine.pciBus().functions().stream()
                .filter(f -> f.owner().equals(id))
                .forEach(f -> places.add("PCI " + f.address()));
        ranges(machine.pioMap(), id, "port", places);
        ranges(machine.mmioMap(), id, "memory", places);
        return places;
    }

    private static void ranges(RangeMap map, String id, String kind, List<String> places) {
        for (RangeMap.Range range : map.visible()) {
            boolean bar = range.owner().startsWith(id + " ");
            if (bar || range.owner().equals(id)) {
                long last = range.base() + range.sizeBytes() - 1;
                places.add(kind + " " + Hex.of(range.base()) + (last == range.base() ? "" : ".." + Hex.of(last))
                        + (bar ? range.owner().substring(id.length()) : ""));
            }
        }
    }

    /** The queues of all devices. */
    public QueueTable queues() {
        return machine.whileOpen(() -> {
            List<QueueState> queues = new ArrayList<>();
            machine.devices().forEach((id, device) -> queues.addAll(QueueState.of(id, device.inspect())));
            return new QueueTable(queues);
        });
    }

    /** The queues of one device. */
    public QueueTable queues(String device) {
        return new QueueTable(QueueState.of(device, device(device).state()));
    }

    /** All counters; from the second call on with rates since the call before. */
    public synchronized StatsView stats() {
        StatsSnapshot now = machine.stats();
        Optional<StatsSnapshot> before = statsSeen ? Optional.of(lastStats) : Optional.empty();
        lastStats = now;
        statsSeen = true;
        return new StatsView(name(), now, before);
    }

    /** All counters, with rates over some time from now. */
    public StatsView stats(Duration over) throws InterruptedException {
        StatsSnapshot before = machine.stats();
        Thread.sleep(over);
        return new StatsView(name(), machine.stats(), Optional.of(before));
    }

    /** Why vCPUs have left guest mode, by reason and address. */
    public ExitHistogram exits() {
        Map<String, Long> reasons = new TreeMap<>();
        for (Vcpu vcpu : machine.vcpus()) {
            vcpu.exits().byReason().forEach((reason, count) -> reasons.merge(reason, count, Long::sum));
        }
        Map<List<Object>, Long> counts = new HashMap<>();
        long elsewhere = 0;
        for (AccessTable table : hub.tables()) {
            table.forEach(
                    (space, write, address, count) -> counts.merge(List.of(space, write, address), count, Long::sum));
            elsewhere += table.elsewhere();
        }
        List<ExitHistogram.Address> addresses = new ArrayList<>();
        counts.forEach((key, count) -> {
            AddressSpace space = (AddressSpace) key.get(0);
            long address = (Long) key.get(2);
            addresses.add(
                    new ExitHistogram.Address(space, (Boolean) key.get(1), address, hub.owner(space, address), count));
        });
        addresses.sort(Comparator.comparingLong(ExitHistogram.Address::count)
                .reversed()
                .thenComparing(ExitHistogram.Address::address));
        return new ExitHistogram(name(), reasons, addresses, elsewhere);
    }

    /** What happens from now on: accesses, block I/O, changes of state. Costs nothing while no stream is open. */
    public EventStream events() {
        refuseClosed("watch");
        return new EventStream(hub, event -> true);
    }

    private void refuseClosed(String what) {
        if (state() == MachineState.CLOSED) {
            throw BenchtopException.config("machine " + name() + " cannot " + what + ": it is closed");
        }
    }

    /** The memory map of the machine: where RAM, ROM and devices are. */
    public Map<String, String> memoryMap() {
        return machine.whileOpen(() -> {
            Map<String, String> map = new LinkedHashMap<>();
            record Part(long from, long size, String what) {}
            List<Part> parts = new ArrayList<>();
            machine.physicalMap()
                    .forEach(f -> parts.add(new Part(
                            f.gpa(),
                            f.sizeBytes(),
                            f.access() == MemoryAccess.READ_ONLY ? "read-only memory" : "memory")));
            machine.mmioMap().visible().forEach(r -> parts.add(new Part(r.base(), r.sizeBytes(), r.owner())));
            parts.sort(Comparator.comparingLong(Part::from));
            parts.forEach(p -> map.put(
                    Hex.address(p.from()) + "-" + Hex.address(p.from() + p.size() - 1),
                    p.what() + " (" + Units.formatSize(p.size()) + ")"));
            return map;
        });
    }

    /** What it is and how it is, in some lines. */
    public VmSummary summary() {
        return VmSummary.of(machine);
    }

    /** Looks again and again: see {@link VmWatch}. */
    public VmWatch watch() {
        return new VmWatch(this, VmWatch.DEFAULT_PERIOD);
    }

    /** The YAML that makes such a machine. */
    public String yaml() {
        return spec().toYaml();
    }

    /** Writes the YAML of the machine to a file. */
    public Path save(Path yamlFile) {
        try {
            return java.nio.file.Files.writeString(yamlFile, yaml());
        } catch (java.io.IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, yamlFile + ": cannot be written: " + e.getMessage(), e);
        }
    }

    <T> T held(Supplier<T> action) {
        return machine.whileHeld(action);
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "Vm %s: %s, %d vCPU%s, %s, %s",
                name(),
                state().name().toLowerCase(Locale.ROOT),
                spec().cpus(),
                spec().cpus() == 1 ? "" : "s",
                Units.formatSize(spec().memory().sizeBytes()),
                machine.accelerator());
    }
}
