/** xenstore: the tree, transactions, watches, and the wire protocol of the guest's ring. */
@NullMarked
package org.benchtop.xen.store;

import org.jspecify.annotations.NullMarked;
