package org.benchtop.engine;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.SourcePosition;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.image.ImageBacking;

/**
 * What an external snapshot makes of a drive: a new qcow2 image over the file that the drive has had.
 *
 * @param entry the drive as it will be
 * @param file the new image
 * @param backing what the new image is based on
 */
record DriveOverlay(EntrySpec entry, Path file, ImageBacking backing) {
    private static final List<String> KEPT = List.of("cache", "aio", "threads", "discard", "lock");

    /**
     * The overlay over a drive.
     *
     * @param name the drive's name
     * @param entry the drive as it is
     * @param baseDir the folder that its paths start from
     * @param overlay where the new image shall be
     */
    static DriveOverlay over(String name, EntrySpec entry, Path baseDir, Path overlay) {
        Optional<String> base = switch (entry.type()) {
            case "file", "qcow2" -> text(entry, "file");
            case "phy" -> text(entry, "device");
            default -> Optional.empty();
        };
        if (base.isEmpty()) {
            throw BenchtopException.config("drive " + name
                    + ": a snapshot needs a drive of type file or qcow2 on a file, or phy on a device, not "
                    + entry.type());
        }
        ConfigValue.Mapping options = ConfigValue.Mapping.EMPTY.with("file", SourcePosition.NONE, scalar(overlay));
        for (String option : KEPT) {
            Optional<ConfigValue> given = entry.options().find(option);
            if (given.isPresent()) {
                options = options.with(option, SourcePosition.NONE, given.get());
            }
        }
        if (entry.type().equals("phy") && entry.options().find("cache").isEmpty()) {
            options = options.with("cache", SourcePosition.NONE, ConfigValue.of("none", ""));
        }
        String format = entry.type().equals("qcow2") ? "qcow2" : "raw";
        return new DriveOverlay(
                new EntrySpec("qcow2", Optional.empty(), options, SourcePosition.NONE).at(entry.path()),
                overlay,
                new ImageBacking(
                        baseDir.resolve(base.get()).toAbsolutePath().normalize().toString(), Optional.of(format)));
    }

    private static ConfigValue scalar(Path path) {
        return ConfigValue.of(path, "");
    }

    private static Optional<String> text(EntrySpec entry, String option) {
        return entry.options()
                .find(option)
                .map(value -> value instanceof ConfigValue.Scalar scalar ? scalar.text() : "");
    }
}
