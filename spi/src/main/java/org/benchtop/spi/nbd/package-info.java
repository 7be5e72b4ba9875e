/** The network block device protocol: what a client in one plugin and a server in another have in common. */
@NullMarked
package org.benchtop.spi.nbd;

import org.jspecify.annotations.NullMarked;
