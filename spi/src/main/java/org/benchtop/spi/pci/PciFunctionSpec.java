package org.benchtop.spi.pci;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Describes a function to {@link PciBus#add}; a builder.
 *
 * <p>The engine implements the header, BAR sizing and decoding, MSI, MSI-X and capability list from it; the device
 * supplies registers.
 */
public final class PciFunctionSpec {
    private final int vendorId;
    private final int deviceId;
    private int revision;
    private int classCode;
    private int subsystemVendorId;
    private int subsystemId;
    private int interruptPin;
    private int msixVectors;
    private int msixBar;
    private long msixTableOffset;
    private long msixPbaOffset;
    private int msiVectors;
    private Optional<PciAddress> address = Optional.empty();
    private boolean multifunction;
    private Optional<PciConfigHook> hook = Optional.empty();
    private final List<Bar> bars = new ArrayList<>();
    private final List<Capability> capabilities = new ArrayList<>();

    public PciFunctionSpec(int vendorId, int deviceId) {
        this.vendorId = vendorId;
        this.deviceId = deviceId;
    }

    /** Revision ID, 0 to 255. */
    public PciFunctionSpec revision(int value) {
        revision = value;
        return this;
    }

    /** Class, subclass and programming interface: 0x010180 for IDE. */
    public PciFunctionSpec classCode(int value) {
        classCode = value;
        return this;
    }

    /** Subsystem vendor and ID. */
    public PciFunctionSpec subsystem(int vendor, int id) {
        subsystemVendorId = vendor;
        subsystemId = id;
        return this;
    }

    /** INTx pin: 1 for INTA to 4 for INTD; 0 for none. */
    public PciFunctionSpec interruptPin(int value) {
        interruptPin = value;
        return this;
    }

    /** Adds a BAR. */
    public PciFunctionSpec bar(Bar bar) {
        bars.add(bar);
        return this;
    }

    /**
     * Adds MSI-X: table and pending bits lie in a memory BAR (added with {@link #bar}); accesses to them do not reach
     * the BAR's own handler.
     */
    public PciFunctionSpec msix(int vectors, int bar, long tableOffset, long pbaOffset) {
        msixVectors = vectors;
        msixBar = bar;
        msixTableOffset = tableOffset;
        msixPbaOffset = pbaOffset;
        return this;
    }

    /** Adds MSI with 1, 2, 4, 8, 16 or 32 vectors, 64-bit addresses and per-vector masking. */
    public PciFunctionSpec msi(int vectors) {
        msiVectors = vectors;
        return this;
    }

    /** Adds a capability; the list keeps the order of addition, behind MSI-X and MSI. */
    public PciFunctionSpec capability(Capability capability) {
        capabilities.add(capability);
        return this;
    }

    /** A fixed address; without one the engine takes the lowest free device number. */
    public PciFunctionSpec address(PciAddress value) {
        address = Optional.of(value);
        return this;
    }

    /** A fixed address or none. */
    public PciFunctionSpec address(Optional<PciAddress> value) {
        address = value;
        return this;
    }

    /** Sets the multifunction bit of function 0. */
    public PciFunctionSpec multifunction(boolean value) {
        multifunction = value;
        return this;
    }

    /** Sees accesses to configuration space. */
    public PciFunctionSpec hook(PciConfigHook value) {
        hook = Optional.of(value);
        return this;
    }

    /** See the builder method. */
    public int vendorId() {
        return vendorId;
    }

    /** See the builder method. */
    public int deviceId() {
        return deviceId;
    }

    /** See the builder method. */
    public int revision() {
        return revision;
    }

    /** See the builder method. */
    public int classCode() {
        return classCode;
    }

    /** See the builder method. */
    public int subsystemVendorId() {
        return subsystemVendorId;
    }

    /** See the builder method. */
    public int subsystemId() {
        return subsystemId;
    }

    /** See the builder method. */
    public int interruptPin() {
        return interruptPin;
    }

    /** See the builder method. */
    public int msixVectors() {
        return msixVectors;
    }

    /** See the builder method. */
    public int msixBar() {
        return msixBar;
    }

    /** See the builder method. */
    public long msixTableOffset() {
        return msixTableOffset;
    }

    /** See the builder method. */
    public long msixPbaOffset() {
        return msixPbaOffset;
    }

    /** See the builder method. */
    public int msiVectors() {
        return msiVectors;
    }

    /** See the builder method. */
    public Optional<PciAddress> address() {
        return address;
    }

    /** See the builder method. */
    public boolean multifunction() {
        return multifunction;
    }

    /** See the builder method. */
    public Optional<PciConfigHook> hook() {
        return hook;
    }

    /** See the builder method. */
    public List<Bar> bars() {
        return List.copyOf(bars);
    }

    /** See the builder method. */
    public List<Capability> capabilities() {
        return List.copyOf(capabilities);
    }
}
