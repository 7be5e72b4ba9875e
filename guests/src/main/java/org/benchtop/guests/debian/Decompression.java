package org.benchtop.guests.debian;

import com.github.luben.zstd.ZstdInputStream;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import org.tukaani.xz.LZMAInputStream;
import org.tukaani.xz.XZInputStream;

/** Recognises compressed data by its first bytes. */
final class Decompression {
    private static final int PEEK_BYTES = 8;
    private static final int GZIP = 0x8b1f;
    private static final int XZ = 0x587a37fd;
    private static final int ZSTD = 0xfd2fb528;
    private static final int LZ4_LEGACY = 0x184c2102;

    private Decompression() {}

    /** The content of a stream, decompressed where it is gzip, xz, zstd, LZ4 or LZMA, and as it is otherwise. */
    static InputStream of(InputStream raw) throws IOException {
        BufferedInputStream in = new BufferedInputStream(raw, 1 << 16);
        in.mark(PEEK_BYTES);
        byte[] start = in.readNBytes(PEEK_BYTES);
        in.reset();
        int word = start.length < 4 ? 0 : word(start, 0);
        if ((word & 0xffff) == GZIP) {
            return new GZIPInputStream(in, 1 << 16);
        }
        if (word == XZ) {
            return new XZInputStream(in);
        }
        if (word == ZSTD) {
            return new ZstdInputStream(in);
        }
        if (word == LZ4_LEGACY) {
            return new ByteArrayInputStream(Lz4.legacy(in.readAllBytes()));
        }
        if ((word & 0xffffff) == 0x5d) {
            return new LZMAInputStream(in);
        }
        return in;
    }

    static int word(byte[] data, int at) {
        return data[at] & 0xff | (data[at + 1] & 0xff) << 8 | (data[at + 2] & 0xff) << 16 | data[at + 3] << 24;
    }
}
