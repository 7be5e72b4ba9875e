package org.benchtop.pc.chardev;

import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.event.EventLoop;

/** Drops output and never has input. */
final class NullChardev implements Chardev {
    @Override
    public void connect(ChardevFrontend frontend, EventLoop loop) {}

    @Override
    public void disconnect() {}

    @Override
    public int write(byte[] buffer, int offset, int lengthBytes) {
        return lengthBytes;
    }

    @Override
    public boolean write(byte value) {
        return true;
    }

    @Override
    public void resumeInput() {}

    @Override
    public String describe() {
        return "null";
    }

    @Override
    public void close() {}
}
