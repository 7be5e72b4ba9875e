package org.benchtop.pc.legacy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeChardev;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The exit, debug and POST ports. */
class PortsTest {
    @Nested
    class Exit implements DeviceContract {
        @Override
        public Subject subject() {
            FakeDeviceContext own = new FakeDeviceContext();
            return Subject.of(DebugExit.type().create(new DebugExitOptions(0x501), own), own);
        }

        private static FakeDeviceContext machine() {
            FakeDeviceContext context = new FakeDeviceContext();
            DebugExit.type().create(new DebugExitOptions(0x501), context).attach(context);
            return context;
        }

        @Test
        void valueOfAnyWidthIsTheExitCode() {
            FakeDeviceContext context = machine();
            context.pioWrite(0x501, 1, 0x1ff);
            context.pioWrite(0x501, 2, 0x1234);
            context.pioWrite(0x501, 4, 0xffff_ffffL);

            assertEquals(
                    List.of("exit 255", "exit 4660", "exit -1"),
                    context.machine().requests());
        }

        @Test
        void onlyTheFirstPortExits() {
            FakeDeviceContext context = machine();
            context.pioWrite(0x502, 1, 1);

            assertEquals(List.of(), context.machine().requests());
        }
    }

    @Nested
    class Debug implements DeviceContract {
        @Override
        public Subject subject() {
            FakeDeviceContext own = new FakeDeviceContext().chardev("log", new FakeChardev());
            return Subject.of(Debugcon.type().create(new DebugconOptions(Optional.of("log"), 0x402), own), own);
        }

        @Test
        void readsItsSignature() {
            FakeDeviceContext context = new FakeDeviceContext();
            Debugcon.type()
                    .create(new DebugconOptions(Optional.empty(), 0x402), context)
                    .attach(context);

            assertEquals(0xe9, context.pioRead(0x402, 1));
        }

        @Test
        void slowChardevLosesNothingWithinTheLimit() {
            FakeChardev log = new FakeChardev();
            FakeDeviceContext context = new FakeDeviceContext().chardev("log", log);
            Debugcon.type()
                    .create(new DebugconOptions(Optional.of("log"), 0x402), context)
                    .attach(context);
            log.capacity(4);
            StringBuilder written = new StringBuilder();
            for (int i = 0; i < 1000; i++) {
                char c = (char) ('a' + i % 26);
                written.append(c);
                context.pioWrite(0x402, 1, c);
            }
            StringBuilder read = new StringBuilder();
            for (int i = 0; i < 1000 && read.length() < 1000; i++) {
                read.append(new String(log.drain(), java.nio.charset.StandardCharsets.ISO_8859_1));
                context.runPending();
            }

            assertEquals(written.toString(), read.toString());
        }

        @Test
        void linesWithoutChardevCanBeInspected() {
            FakeDeviceContext context = new FakeDeviceContext();
            Device device = Debugcon.type().create(new DebugconOptions(Optional.empty(), 0x402), context);
            device.attach(context);
            for (char c : "SeaBIOS (version x)\nBUILD".toCharArray()) {
                context.pioWrite(0x402, 1, c);
            }

            assertEquals(List.of("SeaBIOS (version x)"), device.inspect().get("lines"));
        }

        @Test
        void endlessLineIsCut() {
            FakeDeviceContext context = new FakeDeviceContext();
            Device device = Debugcon.type().create(new DebugconOptions(Optional.empty(), 0x402), context);
            device.attach(context);
            for (int i = 0; i < 5000; i++) {
                context.pioWrite(0x402, 1, 'x');
            }

            assertTrue(String.valueOf(device.inspect().get("lines")).contains("xxx"));
        }
    }

    @Nested
    class Post implements DeviceContract {
        @Override
        public Subject subject() {
            FakeDeviceContext own = new FakeDeviceContext();
            return Subject.of(PostPort.type().create(new NoOptions(), own), own);
        }

        @Test
        void keepsTheLastCode() {
            FakeDeviceContext context = new FakeDeviceContext();
            PostPort.type().create(new NoOptions(), context).attach(context);
            context.pioWrite(0x80, 1, 0x12);
            context.pioWrite(0x80, 1, 0x34);

            assertEquals(0x34, context.pioRead(0x80, 1));
            assertEquals(2, context.stats().value("codes"));
            assertEquals(0x34, context.stats().value("last-code"));
        }
    }
}
