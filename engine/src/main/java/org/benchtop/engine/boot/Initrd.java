package org.benchtop.engine.boot;

/**
 * An initial RAM disk.
 *
 * @param name for messages
 * @param data its content
 */
record Initrd(String name, byte[] data) {}
