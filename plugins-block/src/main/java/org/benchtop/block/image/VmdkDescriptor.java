package org.benchtop.block.image;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The text part of a VMDK image.
 *
 * @param values keys in lower case
 * @param extents the parts of the disk, in order
 */
record VmdkDescriptor(Map<String, String> values, List<Extent> extents) {
    static final String FIRST_LINE = "# Disk DescriptorFile";

    private static final Pattern EXTENT = Pattern.compile(
            "(RW|RDONLY|NOACCESS)\\s+(\\d{1,18})\\s+([A-Z]+)(?:\\s+\"([^\"]*)\"(?:\\s+(\\d{1,18}))?)?.*");
    private static final int MAX_EXTENTS = 4096;
    private static final long MAX_SECTORS = 1L << 37;

    VmdkDescriptor {
        values = Map.copyOf(values);
        extents = List.copyOf(extents);
    }

    /**
     * A part of the disk.
     *
     * @param readable whether it may be read
     * @param sectors its length
     * @param kind FLAT, SPARSE, ZERO, VMFS …
     * @param file the file's name
     * @param offsetSectors where it starts in a flat file
     */
    record Extent(boolean readable, long sectors, String kind, String file, long offsetSectors) {}

    static VmdkDescriptor parse(String text, ImageReader reader) {
        Map<String, String> values = new TreeMap<>();
        List<Extent> extents = new ArrayList<>();
        int end = text.indexOf('\0');
        for (String raw : (end < 0 ? text : text.substring(0, end)).split("\\R", -1)) {
            String line = raw.strip();
            Matcher extent = EXTENT.matcher(line);
            int equals = line.indexOf('=');
            if (line.startsWith("#") || line.isEmpty()) {
                continue;
            }
            if (extent.matches()) {
                if (extents.size() == MAX_EXTENTS) {
                    throw reader.error("more than " + MAX_EXTENTS + " extents");
                }
                long sectors = Long.parseLong(extent.group(2));
                if (sectors > MAX_SECTORS) {
                    throw reader.error("an extent of " + sectors + " sectors");
                }
                String file = extent.group(4);
                String offset = extent.group(5);
                extents.add(new Extent(
                        !extent.group(1).equals("NOACCESS"),
                        sectors,
                        extent.group(3),
                        file == null ? "" : file.replaceAll("\\p{Cntrl}", "?"),
                        offset == null ? 0 : Math.min(Long.parseLong(offset), MAX_SECTORS)));
            } else if (equals > 0) {
                String value = line.substring(equals + 1).strip();
                values.put(
                        line.substring(0, equals).strip().toLowerCase(Locale.ROOT),
                        value.length() >= 2 && value.startsWith("\"") && value.endsWith("\"")
                                ? value.substring(1, value.length() - 1)
                                : value);
            }
        }
        return new VmdkDescriptor(values, extents);
    }

    /** Refuses an image that is only the difference to another one. */
    void requireNoParent(ImageReader reader) {
        String parent = values.getOrDefault("parentcid", "ffffffff");
        if (!parent.equalsIgnoreCase("ffffffff")) {
            throw reader.unsupported("a VMDK with a parent ("
                    + values.getOrDefault("parentfilenamehint", "CID " + parent) + "); allowed: images on their own");
        }
    }
}
