package org.benchtop.guests.debian;

import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** The legacy frame of LZ4, which Linux kernels use: blocks of at most 8 MiB, each with its compressed length. */
final class Lz4 {
    private static final int BLOCK_BYTES = 8 << 20;
    private static final int MIN_MATCH = 4;
    private static final int LONG_LENGTH = 15;

    private Lz4() {}

    /** Decompresses a frame; what follows its last block, such as the length that kernels append, is left out. */
    static byte[] legacy(byte[] frame) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream(4 * frame.length);
        byte[] block = new byte[BLOCK_BYTES];
        int at = 4;
        while (at + 4 < frame.length) {
            int length = Decompression.word(frame, at);
            at += 4;
            if (length <= 0 || length > frame.length - at) {
                throw new IOException("LZ4 block of " + Integer.toUnsignedString(length) + " bytes sticks out");
            }
            out.write(block, 0, block(frame, at, at + length, block));
            at += length;
        }
        return out.toByteArray();
    }

    /** Decompresses a block; returns how many bytes it gave. */
    private static int block(byte[] in, int start, int end, byte[] out) throws IOException {
        int at = start;
        int to = 0;
        try {
            while (at < end) {
                int token = in[at++] & 0xff;
                int literals = token >> 4;
                if (literals == LONG_LENGTH) {
                    int more;
                    do {
                        more = in[at++] & 0xff;
                        literals += more;
                    } while (more == 0xff);
                }
                System.arraycopy(in, at, out, to, literals);
                at += literals;
                to += literals;
                if (at >= end) {
                    break;
                }
                int distance = in[at] & 0xff | (in[at + 1] & 0xff) << 8;
                at += 2;
                int match = token & 0xf;
                if (match == LONG_LENGTH) {
                    int more;
                    do {
                        more = in[at++] & 0xff;
                        match += more;
                    } while (more == 0xff);
                }
                match += MIN_MATCH;
                if (distance == 0) {
                    throw new IOException("LZ4 match at distance 0");
                }
                // Byte by byte: a match may overlap what it produces.
                for (int i = 0; i < match; i++, to++) {
                    out[to] = out[to - distance];
                }
            }
        } catch (IndexOutOfBoundsException e) {
            throw new IOException("LZ4 block is damaged", e);
        }
        return to;
    }
}
