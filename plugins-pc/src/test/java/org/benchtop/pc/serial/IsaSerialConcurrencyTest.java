package org.benchtop.pc.serial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.FakeChardev;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;

/** A vCPU that writes while the loop moves output and input. */
class IsaSerialConcurrencyTest {
    private static final int COM1 = 0x3f8;

    @Test
    void nothingIsLostOrReorderedWhileTheReaderIsSlow() throws Exception {
        FakeChardev line = new FakeChardev();
        FakeDeviceContext context = new FakeDeviceContext().chardev("tty0", line);
        Device device = IsaSerial.type()
                .create(
                        new IsaSerialOptions(
                                Optional.of("tty0"),
                                1,
                                Optional.empty(),
                                Optional.empty(),
                                IsaSerialOptions.Carrier.ALWAYS),
                        context);
        device.attach(context);
        device.reset();
        line.capacity(7);
        context.pioWrite(COM1 + 2, 1, 1);
        int total = 5_000;
        CompletableFuture<Void> vcpu = CompletableFuture.runAsync(() -> {
            int sent = 0;
            while (sent < total) {
                if ((context.pioRead(COM1 + 5, 1) & Uart16550.LSR_THRE) == 0) {
                    Thread.onSpinWait();
                    continue;
                }
                for (int i = 0; i < 16 && sent < total; i++) {
                    context.pioWrite(COM1, 1, 'a' + sent % 26);
                    sent++;
                }
            }
        });

        int seen = 0;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (seen < total) {
            for (byte b : line.drain()) {
                assertEquals('a' + seen % 26, b, "byte " + seen);
                seen++;
            }
            context.runPending();
            assertTrue(System.nanoTime() < deadline, "output stopped after " + seen + " bytes");
        }

        vcpu.get(60, TimeUnit.SECONDS);
        assertEquals(0, context.stats().value("tx-overruns"));
    }
}
