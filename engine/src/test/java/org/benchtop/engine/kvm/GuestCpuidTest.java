package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.CpuModel;
import org.junit.jupiter.api.Test;

class GuestCpuidTest {
    private static final int AVX2 = 1 << 5;
    private static final int HYPERVISOR = 1 << 31;

    private static final CpuidTable SUPPORTED = new CpuidTable(List.of(
            leaf(0, 0xd, 0x756e_6547, 0x6c65_746e, 0x4965_6e69),
            leaf(1, 0x306c3, 0x0710_0800, 0x0020_0201, 0x0f8b_fbff),
            new CpuidLeaf(4, 0, 1, 0x1c00_4121, 0x1c0_003f, 0x3f, 0),
            new CpuidLeaf(4, 3, 1, 0x1c03_c163, 0x3c0_003f, 0x1fff, 6),
            new CpuidLeaf(7, 0, 1, 0, AVX2 | 1, 0, 0),
            new CpuidLeaf(0xb, 0, 1, 0, 0, 0, 99),
            leaf(0x4000_0000, 0x4000_0001, 0x4b4d_564b, 0x564b_4d56, 0x4d),
            leaf(0x8000_0001, 0, 0, 0x21, 0x2c10_0800),
            leaf(0x8000_0008, 0x3027, 0, 0x3007, 0)));

    private static CpuidLeaf leaf(int function, int eax, int ebx, int ecx, int edx) {
        return new CpuidLeaf(function, 0, 0, eax, ebx, ecx, edx);
    }

    private static CpuidTable host() {
        return GuestCpuid.forModel(CpuModel.HOST, SUPPORTED, true);
    }

    private static CpuidLeaf find(CpuidTable table, int function, int index) {
        return table.find(function, index).orElseThrow();
    }

    @Test
    void hypervisorBitAndTscDeadlineAreAdded() {
        assertEquals(HYPERVISOR | 1 << 24 | 0x0020_0201, find(host(), 1, 0).ecx());
        CpuidTable without = GuestCpuid.forModel(CpuModel.HOST, SUPPORTED, false);
        assertEquals(0, find(without, 1, 0).ecx() & 1 << 24);
    }

    @Test
    void apicIdIsTheVcpusNumberInEveryLeaf() {
        CpuidTable table = GuestCpuid.forVcpu(host(), 2, 3, OptionalInt.empty());

        assertEquals(2, find(table, 1, 0).ebx() >>> 24);
        assertEquals(4, find(table, 1, 0).ebx() >>> 16 & 0xff);
        assertEquals(0x0800, find(table, 1, 0).ebx() & 0xffff);
        assertEquals(2, find(table, 0xb, 0).edx());
        assertEquals(2, find(table, 0xb, 1).edx());
        assertEquals(2, find(table, 0xb, 2).edx());
    }

    @Test
    void topologyIsOneSocketOfSingleThreadedCores() {
        CpuidTable table = GuestCpuid.forVcpu(host(), 0, 3, OptionalInt.empty());

        assertEquals(new CpuidLeaf(0xb, 0, 1, 0, 1, 0x100, 0), find(table, 0xb, 0));
        assertEquals(new CpuidLeaf(0xb, 1, 1, 2, 3, 0x201, 0), find(table, 0xb, 1));
        assertEquals(new CpuidLeaf(0xb, 2, 1, 0, 0, 2, 0), find(table, 0xb, 2));
        assertEquals(0x2002, find(table, 0x8000_0008, 0).ecx());
        assertEquals(1 << 28, find(table, 1, 0).edx() & 1 << 28);
        assertEquals(2, find(table, 0x8000_0001, 0).ecx() & 2);
    }

    @Test
    void firstLevelCacheIsPrivateAndThirdLevelCacheIsShared() {
        CpuidTable table = GuestCpuid.forVcpu(host(), 0, 4, OptionalInt.empty());

        assertEquals(0, find(table, 4, 0).eax() >>> 14 & 0xfff);
        assertEquals(3, find(table, 4, 3).eax() >>> 14 & 0xfff);
        assertEquals(3, find(table, 4, 3).eax() >>> 26);
        assertEquals(0x163, find(table, 4, 3).eax() & 0x3fff);
    }

    @Test
    void singleCpuShowsNoTopology() {
        CpuidTable table = GuestCpuid.forVcpu(host(), 0, 1, OptionalInt.empty());

        assertEquals(0, find(table, 1, 0).edx() & 1 << 28);
        assertEquals(0, find(table, 0xb, 1).eax());
        assertEquals(0, find(table, 0x8000_0008, 0).ecx());
    }

    @Test
    void tscFrequencyIsOfferedBehindTheSignature() {
        CpuidTable table = GuestCpuid.forVcpu(host(), 0, 1, OptionalInt.of(2_600_000));

        assertEquals(0x4000_0010, find(table, 0x4000_0000, 0).eax());
        assertEquals(0x4b4d_564b, find(table, 0x4000_0000, 0).ebx());
        assertEquals(new CpuidLeaf(0x4000_0010, 0, 0, 2_600_000, 1_000_000, 0, 0), find(table, 0x4000_0010, 0));
    }

    @Test
    void featureCanBeTurnedOff() {
        CpuidTable table =
                GuestCpuid.forModel(new CpuModel("max", Map.of("avx2", false, "hypervisor", false)), SUPPORTED, true);

        assertEquals(1, find(table, 7, 0).ebx());
        assertEquals(0, find(table, 1, 0).ecx() & HYPERVISOR);
    }

    @Test
    void supportedFeatureCanBeDemanded() {
        CpuidTable table = GuestCpuid.forModel(new CpuModel("host", Map.of("avx2", true)), SUPPORTED, true);

        assertEquals(AVX2 | 1, find(table, 7, 0).ebx());
    }

    @Test
    void unsupportedFeatureCannotBeDemanded() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> GuestCpuid.forModel(new CpuModel("host", Map.of("avx512f", true)), SUPPORTED, true));

        assertEquals(ErrorKind.HOST, e.kind());
        assertEquals("cpu feature \"+avx512f\": KVM on this host cannot give it to a guest", e.getMessage());
    }

    @Test
    void unknownFeatureNamesTheNearest() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> GuestCpuid.forModel(new CpuModel("host", Map.of("rdrandd", false)), SUPPORTED, true));

        assertEquals(ErrorKind.CONFIG, e.kind());
        assertEquals("unknown cpu feature \"rdrandd\" (did you mean \"rdrand\"?)", e.getMessage());
    }

    @Test
    void unknownModelListsTheAllowedOnes() {
        BenchtopException e = assertThrows(
                BenchtopException.class, () -> GuestCpuid.forModel(new CpuModel("qemu64", Map.of()), SUPPORTED, true));

        assertEquals("unknown cpu model \"qemu64\" for accel kvm; allowed: host, max", e.getMessage());
    }

    @Test
    void namesOfThisHostsFeaturesAreKnown() {
        assertEquals(
                new CpuidFeatures.Feature(1, 0, CpuidRegister.EDX, 28),
                CpuidFeatures.named("ht").getFirst());
        assertEquals(
                new CpuidFeatures.Feature(0x8000_0001, 0, CpuidRegister.ECX, 22),
                CpuidFeatures.named("topoext").getFirst());
        assertEquals(
                2,
                CpuidFeatures.named("aes").size() + CpuidFeatures.named("fma").size());
        assertFalse(CpuidFeatures.named("rdrand").isEmpty());
        assertTrue(CpuidFeatures.named("vaes")
                .getFirst()
                .in(new CpuidTable(List.of(new CpuidLeaf(7, 0, 1, 0, 0, 1 << 9, 0)))));
    }
}
