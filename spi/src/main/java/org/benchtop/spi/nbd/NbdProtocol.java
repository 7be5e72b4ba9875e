package org.benchtop.spi.nbd;

/**
 * Numbers of the NBD protocol, for clients and servers; the names are those of its document. Source: the
 * NetworkBlockDevice project, doc/proto.md.
 */
public final class NbdProtocol {
    // Magic numbers.

    public static final long NBDMAGIC = 0x4e42444d41474943L;
    public static final long IHAVEOPT = 0x49484156454F5054L;
    public static final long OPTION_REPLY_MAGIC = 0x3e889045565a9L;
    public static final int NBD_REQUEST_MAGIC = 0x25609513;
    public static final int NBD_SIMPLE_REPLY_MAGIC = 0x67446698;
    public static final int NBD_STRUCTURED_REPLY_MAGIC = 0x668e33ef;
    public static final long OLDSTYLE_MAGIC = 0x00420281861253L;

    // Handshake flags.

    public static final int NBD_FLAG_FIXED_NEWSTYLE = 1;
    public static final int NBD_FLAG_NO_ZEROES = 2;

    // Options.

    public static final int NBD_OPT_EXPORT_NAME = 1;
    public static final int NBD_OPT_ABORT = 2;
    public static final int NBD_OPT_LIST = 3;
    public static final int NBD_OPT_INFO = 6;
    public static final int NBD_OPT_GO = 7;
    public static final int NBD_OPT_STRUCTURED_REPLY = 8;
    public static final int NBD_OPT_LIST_META_CONTEXT = 9;
    public static final int NBD_OPT_SET_META_CONTEXT = 10;

    // Option replies.

    public static final int NBD_REP_ACK = 1;
    public static final int NBD_REP_SERVER = 2;
    public static final int NBD_REP_INFO = 3;
    public static final int NBD_REP_META_CONTEXT = 4;
    public static final int NBD_REP_ERR = 1 << 31;
    public static final int NBD_REP_ERR_UNSUP = NBD_REP_ERR + 1;
    public static final int NBD_REP_ERR_POLICY = NBD_REP_ERR + 2;
    public static final int NBD_REP_ERR_INVALID = NBD_REP_ERR + 3;
    public static final int NBD_REP_ERR_TLS_REQD = NBD_REP_ERR + 5;
    public static final int NBD_REP_ERR_UNKNOWN = NBD_REP_ERR + 6;

    // Information.

    public static final int NBD_INFO_EXPORT = 0;
    public static final int NBD_INFO_BLOCK_SIZE = 3;

    // Transmission flags.

    public static final int NBD_FLAG_HAS_FLAGS = 1;
    public static final int NBD_FLAG_READ_ONLY = 1 << 1;
    public static final int NBD_FLAG_SEND_FLUSH = 1 << 2;
    public static final int NBD_FLAG_SEND_FUA = 1 << 3;
    public static final int NBD_FLAG_SEND_TRIM = 1 << 5;
    public static final int NBD_FLAG_SEND_WRITE_ZEROES = 1 << 6;
    public static final int NBD_FLAG_CAN_MULTI_CONN = 1 << 8;

    // Requests.

    public static final int NBD_CMD_READ = 0;
    public static final int NBD_CMD_WRITE = 1;
    public static final int NBD_CMD_DISC = 2;
    public static final int NBD_CMD_FLUSH = 3;
    public static final int NBD_CMD_TRIM = 4;
    public static final int NBD_CMD_WRITE_ZEROES = 6;
    public static final int NBD_CMD_BLOCK_STATUS = 7;
    public static final int NBD_CMD_FLAG_FUA = 1;
    public static final int NBD_CMD_FLAG_NO_HOLE = 1 << 1;
    public static final int NBD_CMD_FLAG_REQ_ONE = 1 << 3;
    public static final int REQUEST_BYTES = 28;

    // Structured replies.

    public static final int NBD_REPLY_FLAG_DONE = 1;
    public static final int NBD_REPLY_TYPE_NONE = 0;
    public static final int NBD_REPLY_TYPE_OFFSET_DATA = 1;
    public static final int NBD_REPLY_TYPE_OFFSET_HOLE = 2;
    public static final int NBD_REPLY_TYPE_BLOCK_STATUS = 5;
    public static final int NBD_REPLY_TYPE_ERROR_BIT = 1 << 15;
    public static final int NBD_REPLY_TYPE_ERROR = NBD_REPLY_TYPE_ERROR_BIT + 1;

    // Block status.

    public static final String BASE_ALLOCATION = "base:allocation";
    public static final int NBD_STATE_HOLE = 1;
    public static final int NBD_STATE_ZERO = 1 << 1;

    // Errors.

    public static final int NBD_EPERM = 1;
    public static final int NBD_EIO = 5;
    public static final int NBD_EINVAL = 22;
    public static final int NBD_ENOSPC = 28;
    public static final int NBD_ENOTSUP = 95;

    private NbdProtocol() {}
}
