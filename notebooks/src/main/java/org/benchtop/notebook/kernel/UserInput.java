package org.benchtop.notebook.kernel;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.benchtop.notebook.wire.Channels;
import org.jspecify.annotations.Nullable;

/** Standard input of cells: each read past what was typed asks the front end for a line. */
final class UserInput extends InputStream {
    private final Channels channels;
    private final CellOutput output;
    private byte[] line = new byte[0];
    private int position;

    UserInput(Channels channels, CellOutput output) {
        this.channels = channels;
        this.output = output;
    }

    /**
     * Asks for a line.
     *
     * @throws IOException if the front end allows no questions
     * @throws InterruptedException if the cell was interrupted meanwhile
     */
    String ask(String prompt, boolean password) throws IOException, InterruptedException {
        @Nullable Cell cell = Cell.current();
        if (cell == null || !cell.allowsInput()) {
            throw new IOException("this front end does not let cells ask for input");
        }
        System.out.flush();
        output.flush();
        return channels.input(cell.request(), prompt, password);
    }

    @Override
    public synchronized int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public synchronized int read(byte[] target, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, target.length);
        if (length == 0) {
            return 0;
        }
        if (position == line.length) {
            try {
                line = (ask("", false) + "\n").getBytes(StandardCharsets.UTF_8);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("waiting for input was interrupted");
            }
            position = 0;
        }
        int count = Math.min(length, line.length - position);
        System.arraycopy(line, position, target, offset, count);
        position += count;
        return count;
    }

    @Override
    public synchronized int available() {
        return line.length - position;
    }

    /** Forgets what an earlier cell did not read. */
    synchronized void discard() {
        position = line.length;
    }
}
