package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;

class LinuxHostTest {
    @Test
    void hereIsLinux() {
        assertTrue(LinuxHost.available());
    }

    @Test
    void otherHostsGetClearErrorsInsteadOfLinkageErrors() throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dos.name=Mac OS X",
                        "-Dos.arch=aarch64",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        OtherHost.class.getName())
                .redirectErrorStream(true)
                .start();

        List<String> output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList();

        String expected = "UNSUPPORTED this needs Linux on x86-64: os.name=Mac OS X os.arch=aarch64";
        assertEquals(List.of("available=false", expected, expected, expected, expected), output);
        assertEquals(0, process.waitFor());
    }

    /** Uses the Linux layer where it thinks that it is on another system. */
    static final class OtherHost {
        public static void main(String[] args) {
            System.out.println("available=" + LinuxHost.available());
            attempt(LinuxHost::new);
            attempt(() -> LinuxEventLoop.start("loop"));
            attempt(() -> GuestRam.allocate("ram", 4096, true, GuestRam.Pages.NORMAL));
            attempt(LibC::getpid);
        }

        private static void attempt(Runnable action) {
            try {
                action.run();
                System.out.println("worked");
            } catch (BenchtopException e) {
                System.out.println(e.kind() + " " + e.getMessage());
            }
        }
    }
}
