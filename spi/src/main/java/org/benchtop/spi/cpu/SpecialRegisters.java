package org.benchtop.spi.cpu;

/** Segments, descriptor tables and control registers of a vCPU: a snapshot. */
public record SpecialRegisters(
        SegmentRegister cs,
        SegmentRegister ds,
        SegmentRegister es,
        SegmentRegister fs,
        SegmentRegister gs,
        SegmentRegister ss,
        SegmentRegister tr,
        SegmentRegister ldt,
        DescriptorTable gdt,
        DescriptorTable idt,
        long cr0,
        long cr2,
        long cr3,
        long cr4,
        long cr8,
        long efer,
        long apicBase) {}
