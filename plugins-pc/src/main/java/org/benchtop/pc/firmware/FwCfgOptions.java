package org.benchtop.pc.firmware;

import java.nio.file.Path;
import java.util.Map;
import org.benchtop.spi.Option;

/** Options of {@code fw-cfg}. */
public record FwCfgOptions(
        @Option(
                doc = "Host files that the guest can read, by the name it sees, such as opt/org.example/key.",
                value = "{}")
        Map<String, Path> files) {
    public FwCfgOptions {
        files = Map.copyOf(files);
        for (String name : files.keySet()) {
            FwCfgItems.checkName(name);
        }
    }
}
