package org.benchtop.xen.store;

/** Why a request was refused; the names are those of the wire protocol. */
public enum StoreError {
    /** The request makes no sense. */
    EINVAL,
    /** The caller may not do that. */
    EACCES,
    /** There is no such node, watch or transaction. */
    ENOENT,
    /** It is there already. */
    EEXIST,
    /** A quota is used up. */
    ENOSPC,
    /** A value or an answer is too long. */
    E2BIG,
    /** Something else has changed what the transaction relies on: try again. */
    EAGAIN,
    /** The request is not supported. */
    ENOSYS,
    /** Too many watches or transactions. */
    EQUOTA
}
