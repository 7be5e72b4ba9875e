package org.benchtop.testkit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.state.SavedState;

/**
 * Several devices of a machine as one, so that an adapter with its disks can be the subject of a {@link DeviceContract}.
 * They are attached and reset in order, as a machine does, and closed in reverse.
 */
public final class DeviceGroup implements Device {
    private final Map<String, Device> devices;

    /** Devices by their name in the machine, in order. */
    public DeviceGroup(LinkedHashMap<String, Device> devices) {
        this.devices = new LinkedHashMap<>(devices);
    }

    /** An adapter {@code hba0} and a disk {@code disk0} of it. */
    public static DeviceGroup of(Device adapter, Device disk) {
        LinkedHashMap<String, Device> both = new LinkedHashMap<>();
        both.put("hba0", adapter);
        both.put("disk0", disk);
        return new DeviceGroup(both);
    }

    /** One of the devices. */
    public Device device(String name) {
        Device found = devices.get(name);
        if (found == null) {
            throw new IllegalArgumentException("no device " + name + "; there are " + devices.keySet());
        }
        return found;
    }

    @Override
    public void attach(DeviceContext context) {
        if (!(context instanceof FakeDeviceContext fake)) {
            throw new IllegalArgumentException("a group of devices needs a FakeDeviceContext");
        }
        devices.forEach((name, device) -> device.attach(fake.device(name)));
    }

    @Override
    public void reset() {
        devices.values().forEach(Device::reset);
    }

    @Override
    public void pause() {
        devices.values().forEach(Device::pause);
    }

    @Override
    public void resume() {
        devices.values().forEach(Device::resume);
    }

    /** The states of the devices, in order. */
    public record State(List<SavedState> devices) {}

    @Override
    public SavedState saveState() {
        return new SavedState(
                1, new State(devices.values().stream().map(Device::saveState).toList()));
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != 1 || !(state.content() instanceof State saved)) {
            throw BenchtopException.config("saved state of a group has version " + state.version() + ", allowed: 1");
        }
        int i = 0;
        for (Device device : devices.values()) {
            device.restoreState(saved.devices.get(i++));
        }
    }

    @Override
    public List<RegisterMap<?>> registers() {
        List<RegisterMap<?>> all = new ArrayList<>();
        devices.values().forEach(device -> all.addAll(device.registers()));
        return all;
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> all = new LinkedHashMap<>();
        devices.forEach((name, device) -> all.put(name, device.inspect()));
        return all;
    }

    @Override
    public void close() {
        List<Device> reversed = new ArrayList<>(devices.values()).reversed();
        reversed.forEach(Device::close);
    }
}
