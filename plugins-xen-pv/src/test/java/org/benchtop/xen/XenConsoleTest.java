package org.benchtop.xen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.benchtop.spi.BenchtopException;
import org.benchtop.testkit.FakeChardev;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The console's page, and hypercalls that make no sense. */
final class XenConsoleTest {
    private static final long PAGE = SharedPages.CONSOLE_FRAME << 12;

    private final XenMachine machine = new XenMachine();
    private final FakeChardev chardev = new FakeChardev();
    private final FakeDeviceContext context = machine.context;

    XenConsoleTest() {
        context.chardev("c", chardev);
        XenConsole unused = machine.add(new XenConsole("console", new XenConsoleOptions("c")), "console");
        machine.start();
    }

    @AfterEach
    void close() {
        machine.close();
        assertFalse(chardev.connected());
    }

    private int port() {
        machine.putShort(XenMachine.ARGS, 0x7ff0);
        machine.putInt(XenMachine.ARGS + 4, 18);
        assertEquals(0, machine.op(34, 1));
        return (int) machine.getLong(XenMachine.ARGS + 8);
    }

    private void write(String text) {
        int prod = (int) context.mmioRead(PAGE + 3084, 4);
        for (int i = 0; i < text.length(); i++) {
            context.mmioWrite(PAGE + 1024 + (prod++ & 2047), 1, text.charAt(i));
        }
        context.mmioWrite(PAGE + 3084, 4, prod & 0xffff_ffffL);
        machine.send(port());
    }

    @Test
    void outputGoesToTheChardevAndInputToTheRing() {
        write("hello\r\n");
        assertEquals("hello\r\n", chardev.text());
        assertEquals(7, context.mmioRead(PAGE + 3080, 4), "taken");

        chardev.type("ls\n");
        context.runPending();

        assertEquals(3, context.mmioRead(PAGE + 3076, 4));
        assertEquals('l', context.mmioRead(PAGE, 1));
    }

    @Test
    void longOutputWrapsAround() {
        String text = "0123456789".repeat(190);
        write(text);
        write(text);

        assertEquals(text + text, chardev.text());
    }

    @Test
    void indicesThatMakeNoSenseLoseOutputOnly() {
        context.mmioWrite(PAGE + 3084, 4, 1_000_000);
        machine.send(port());
        assertEquals("", chardev.text());

        write("ok");

        assertEquals("ok", chardev.text());
    }

    @Test
    void backendsWithoutADomainSayWhatIsMissing() {
        FakeDeviceContext other = new FakeDeviceContext();
        XenConsole console = new XenConsole("console", new XenConsoleOptions("c"));

        BenchtopException error = assertThrows(BenchtopException.class, () -> console.attach(other));

        assertTrue(String.valueOf(error.getMessage()).contains("xen: {version: 4.17"), error.getMessage());
    }

    @Test
    void nonsenseHypercallsNeverThrow() {
        Long given = Long.getLong("benchtop.test.seed");
        long seed = given == null ? new Random().nextLong() : given;
        Random random = new Random(seed);
        int[] numbers = {12, 15, 17, 18, 20, 24, 32, 34};
        try {
            for (int i = 0; i < 20_000; i++) {
                byte[] arguments = new byte[48];
                random.nextBytes(arguments);
                for (int b = 0; b < arguments.length; b++) {
                    arguments[b] = random.nextInt(3) == 0
                            ? (byte) random.nextInt(20)
                            : random.nextInt(4) == 0 ? arguments[b] : 0;
                }
                if (random.nextBoolean()) {
                    arguments[0] = (byte) 0xf0;
                    arguments[1] = 0x7f;
                }
                machine.putBytes(XenMachine.ARGS, arguments);
                int number = numbers[random.nextInt(numbers.length)];
                long at = random.nextInt(20) == 0 ? random.nextLong() : XenMachine.ARGS;
                long unused = number == 24 || number == 18
                        ? machine.call(number, random.nextInt(16), random.nextInt(3), at)
                        : machine.call(number, random.nextInt(30), at, random.nextInt(3));
                if (i % 64 == 0) {
                    context.advance(random.nextInt(100_000));
                }
            }
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("repeat with -Dbenchtop.test.seed=" + seed, e);
        }
        machine.platform.reset();
        assertEquals(4 << 16 | 17, machine.op(17, 0));
    }
}
