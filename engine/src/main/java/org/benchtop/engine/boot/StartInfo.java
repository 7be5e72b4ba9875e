package org.benchtop.engine.boot;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.cpu.DescriptorTable;

/** The PVH start info and entry (Xen docs/misc/pvh.pandoc and public/arch-x86/hvm/start_info.h, version 1). */
final class StartInfo {
    private static final int MAGIC = 0x336ec578;
    private static final int VERSION = 1;
    private static final int SIZE_BYTES = 56;
    private static final int MODULE_BYTES = 32;
    private static final int MEMMAP_ENTRY_BYTES = 24;

    private StartInfo() {}

    /** Writes everything that the guest finds through EBX, and gives the state at the 32-bit entry. */
    static BootState enter(
            BootRam ram, long entry, byte[] cmdline, Optional<Initrd> initrd, long kernelEnd, BootFacts facts) {
        ram.writeCmdline(cmdline);
        ByteBuffer info = BootRam.buffer(SIZE_BYTES);
        info.putInt(0, MAGIC);
        info.putInt(4, VERSION);
        initrd.ifPresent(disk -> {
            ByteBuffer module = BootRam.buffer(MODULE_BYTES);
            module.putLong(0, ram.placeInitrd(disk, kernelEnd, ram.lowEnd() - 1));
            module.putLong(8, disk.data().length);
            ram.write(BootLayout.MODULES, module.array());
            info.putInt(12, 1);
            info.putLong(16, BootLayout.MODULES);
        });
        List<BootRam.Range> ranges = ram.ranges();
        ByteBuffer memmap = BootRam.buffer(ranges.size() * MEMMAP_ENTRY_BYTES);
        for (BootRam.Range range : ranges) {
            memmap.putLong(range.gpa())
                    .putLong(range.sizeBytes())
                    .putInt(range.type())
                    .putInt(0);
        }
        ram.write(BootLayout.MEMORY_TABLE, memmap.array());
        info.putLong(24, BootLayout.CMDLINE);
        info.putLong(32, facts.rsdpGpa().orElse(0));
        info.putLong(40, BootLayout.MEMORY_TABLE);
        info.putInt(48, ranges.size());
        ram.write(BootLayout.INFO, info.array());
        DescriptorTable gdt = ram.writeGdt(false);
        return new BootState(CpuStates.registers(entry, 0, BootLayout.INFO, 0), CpuStates.protectedMode(gdt));
    }
}
