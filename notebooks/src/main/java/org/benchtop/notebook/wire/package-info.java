/** The Jupyter wire protocol: messages, signatures and the five channels over ZeroMQ. */
@NullMarked
package org.benchtop.notebook.wire;

import org.jspecify.annotations.NullMarked;
