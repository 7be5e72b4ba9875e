package org.benchtop.pc;

import java.util.List;
import org.benchtop.pc.acpi.AcpiTablesDevice;
import org.benchtop.pc.apic.IoApic;
import org.benchtop.pc.apic.LocalApics;
import org.benchtop.pc.chardev.Chardevs;
import org.benchtop.pc.chipset.I440Fx;
import org.benchtop.pc.chipset.Piix3;
import org.benchtop.pc.chipset.Piix4Pm;
import org.benchtop.pc.display.VgaText;
import org.benchtop.pc.firmware.FwCfgDevice;
import org.benchtop.pc.legacy.DebugExit;
import org.benchtop.pc.legacy.Debugcon;
import org.benchtop.pc.legacy.I8042;
import org.benchtop.pc.legacy.I8254;
import org.benchtop.pc.legacy.I8259;
import org.benchtop.pc.legacy.PostPort;
import org.benchtop.pc.legacy.Rtc;
import org.benchtop.pc.serial.IsaSerial;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.chardev.ChardevType;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineType;

/** The PC platform: the board {@code pc}, its devices, serial ports and character backends. */
public final class PcPlugin implements Plugin {
    @Override
    public String name() {
        return "pc";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<DeviceType<?>> deviceTypes() {
        return List.of(
                IsaSerial.type(),
                I440Fx.type(),
                Piix3.type(),
                Piix4Pm.type(),
                Rtc.type(),
                I8042.type(),
                PostPort.type(),
                Debugcon.type(),
                DebugExit.type(),
                AcpiTablesDevice.type(),
                FwCfgDevice.type(),
                I8259.type(),
                LocalApics.type(),
                IoApic.type(),
                I8254.type(),
                VgaText.type());
    }

    @Override
    public List<ChardevType<?>> chardevTypes() {
        return Chardevs.types();
    }

    @Override
    public List<MachineType> machineTypes() {
        return List.of(new PcMachine());
    }
}
