package org.benchtop.pc.apic;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.LegacyInterrupts;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.VcpuMmio;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/** The local APICs of all vCPUs, for CPU engines that have none. */
public final class LocalApics implements Device {
    private final Counter interrupts;
    private final Counter ipis;
    private final List<LocalApicCore> apics = new ArrayList<>();

    private LocalApics(NoOptions options, CreateContext context) {
        interrupts = context.stats().counter("acknowledged");
        ipis = context.stats().counter("ipis");
    }

    /** The type {@code local-apic}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "local-apic",
                "local APICs of all vCPUs, with timers and interprocessor interrupts",
                NoOptions.class,
                LocalApics::new);
    }

    @Override
    public void attach(DeviceContext context) {
        Optional<LegacyInterrupts> legacy = context.services().find(LegacyInterrupts.class);
        for (int i = 0; i < context.machine().cpus(); i++) {
            apics.add(create(context, context.machine().vcpu(i), legacy));
        }
        ApicBus bus = new ApicBus(apics);
        apics.forEach(apic -> apic.bus(bus));
        legacy.ifPresent(l -> l.onOutput(bus::lint0));
        context.services().provide(ApicBus.class, bus);
        context.vcpuMmio(new Pages(apics.toArray(LocalApicCore[]::new)));
    }

    private LocalApicCore create(DeviceContext context, Vcpu vcpu, Optional<LegacyInterrupts> legacy) {
        LocalApicCore[] made = new LocalApicCore[1];
        Timer timer = context.timer(() -> made[0].timerExpired());
        LocalApicCore apic = new LocalApicCore(vcpu, context.clock(), timer, legacy, interrupts, ipis);
        made[0] = apic;
        vcpu.connect(apic);
        return apic;
    }

    /** Every vCPU sees its own APIC at the address in its APIC base. */
    private record Pages(LocalApicCore[] apics) implements VcpuMmio {
        @Override
        public boolean decodes(int vcpu, long gpa) {
            return apics[vcpu].decodes(gpa);
        }

        @Override
        public long read(int vcpu, long gpa, int size) {
            return apics[vcpu].read(gpa & LocalApicCore.PAGE_BYTES - 1, size);
        }

        @Override
        public void write(int vcpu, long gpa, int size, long value) {
            apics[vcpu].write(gpa & LocalApicCore.PAGE_BYTES - 1, size, value);
        }
    }

    @Override
    public void reset() {
        apics.forEach(LocalApicCore::reset);
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param apics by vCPU
     */
    record State(List<LocalApicCore.State> apics) {}

    @Override
    public SavedState saveState() {
        return new SavedState(
                1, new State(apics.stream().map(LocalApicCore::save).toList()));
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "local-apic");
        if (content.apics.size() != apics.size()) {
            throw org.benchtop.spi.BenchtopException.config("local-apic: saved state has " + content.apics.size()
                    + " local APICs, this machine has " + apics.size());
        }
        for (int i = 0; i < apics.size(); i++) {
            apics.get(i).restore(content.apics.get(i));
        }
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return apics.stream().<RegisterMap<?>>map(LocalApicCore::registers).toList();
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> all = new LinkedHashMap<>();
        for (int i = 0; i < apics.size(); i++) {
            all.put("vcpu" + i, apics.get(i).inspect());
        }
        return all;
    }

    @Override
    public void close() {
        apics.forEach(LocalApicCore::close);
        apics.clear();
    }
}
