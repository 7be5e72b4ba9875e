package org.benchtop.virtio.blk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code iothread-vq-mapping}. */
final class IothreadMappingTest {
    private static VirtioBlkPciOptions.IothreadMapping to(String iothread, Integer... queues) {
        return new VirtioBlkPciOptions.IothreadMapping(iothread, List.of(queues));
    }

    private static VirtioBlkPciOptions options(int queues, VirtioBlkPciOptions.IothreadMapping... mapping) {
        return BlkMachine.options()
                .with(o -> o.queues = queues)
                .with(o -> o.iothreadVqMapping = List.of(mapping))
                .build();
    }

    @Test
    void queuesAreDealtRoundWithoutNumbers() {
        assertEquals(
                List.of("a", "b", "a", "b", "a"), options(5, to("a"), to("b")).queueIothreads());
    }

    @Test
    void queuesGoWhereTheyAreSent() {
        assertEquals(
                List.of("b", "a", "a", "b"),
                options(4, to("a", 2, 1), to("b", 0, 3)).queueIothreads());
    }

    @ParameterizedTest
    @CsvSource({
        "'a:0;a:1', names iothread \"a\" twice",
        "'a:0;b:', give vqs for every iothread or for none",
        "'a:0;b:0', queue 0 is there twice",
        "'a:0;b:2', queue 2 is outside 0..1",
        "'a:0', queue 1 has no iothread",
        "'a:;b:;c:', 3 iothreads for 2 queues",
    })
    void wrongMappingIsRefused(String text, String message) {
        VirtioBlkPciOptions.IothreadMapping[] mapping = java.util.Arrays.stream(text.split(";", -1))
                .map(part -> part.split(":", -1))
                .map(part -> part[1].isEmpty() ? to(part[0]) : to(part[0], Integer.valueOf(part[1])))
                .toArray(VirtioBlkPciOptions.IothreadMapping[]::new);

        String error = String.valueOf(assertThrows(IllegalArgumentException.class, () -> options(2, mapping))
                .getMessage());

        assertTrue(error.contains(message), error);
    }

    @Test
    void iothreadAndMappingExcludeEachOther() {
        BlkMachine.Options both = BlkMachine.options()
                .with(o -> o.iothread = Optional.of("a"))
                .with(o -> o.iothreadVqMapping = List.of(to("b")));

        assertThrows(IllegalArgumentException.class, both::build);
    }

    @Test
    void eachLoopOpensOneQueueOfTheDrive() {
        HeldBlockBackend disk = BlkMachine.disk();
        FakeDeviceContext context = new FakeDeviceContext("blk0", FakeGuestMemory.ofSize(16 << 20))
                .drive("disk0", disk)
                .iothread("a")
                .iothread("b");
        var device = new VirtioBlkPciType().create(options(4, to("a"), to("b")), context);

        device.attach(context);

        assertEquals(2, disk.openQueues());
        device.close();
        assertEquals(0, disk.openQueues());
    }
}
