package org.benchtop.engine.nbd;

/** Numbers of the NBD protocol that a server needs. Source: the NetworkBlockDevice project's doc/proto.md. */
final class NbdProtocol {
    static final long NBDMAGIC = 0x4e42444d41474943L;
    static final long IHAVEOPT = 0x49484156454F5054L;
    static final long OPTION_REPLY_MAGIC = 0x3e889045565a9L;

    static final int NBD_FLAG_FIXED_NEWSTYLE = 1;
    static final int NBD_FLAG_NO_ZEROES = 2;

    static final int NBD_OPT_EXPORT_NAME = 1;
    static final int NBD_OPT_ABORT = 2;
    static final int NBD_OPT_LIST = 3;
    static final int NBD_OPT_INFO = 6;
    static final int NBD_OPT_GO = 7;
    static final int NBD_OPT_STRUCTURED_REPLY = 8;
    static final int NBD_OPT_LIST_META_CONTEXT = 9;
    static final int NBD_OPT_SET_META_CONTEXT = 10;

    static final int NBD_REP_ACK = 1;
    static final int NBD_REP_SERVER = 2;
    static final int NBD_REP_INFO = 3;
    static final int NBD_REP_META_CONTEXT = 4;
    static final int NBD_REP_ERR_UNSUP = (1 << 31) + 1;
    static final int NBD_REP_ERR_INVALID = (1 << 31) + 3;
    static final int NBD_REP_ERR_UNKNOWN = (1 << 31) + 6;

    static final int NBD_INFO_EXPORT = 0;
    static final int NBD_INFO_BLOCK_SIZE = 3;

    static final int NBD_FLAG_HAS_FLAGS = 1;
    static final int NBD_FLAG_READ_ONLY = 1 << 1;
    static final int NBD_FLAG_SEND_FLUSH = 1 << 2;
    static final int NBD_FLAG_SEND_FUA = 1 << 3;
    static final int NBD_FLAG_SEND_TRIM = 1 << 5;
    static final int NBD_FLAG_SEND_WRITE_ZEROES = 1 << 6;
    static final int NBD_FLAG_CAN_MULTI_CONN = 1 << 8;

    static final int NBD_REQUEST_MAGIC = 0x25609513;
    static final int NBD_SIMPLE_REPLY_MAGIC = 0x67446698;
    static final int NBD_STRUCTURED_REPLY_MAGIC = 0x668e33ef;

    static final int NBD_CMD_READ = 0;
    static final int NBD_CMD_WRITE = 1;
    static final int NBD_CMD_DISC = 2;
    static final int NBD_CMD_FLUSH = 3;
    static final int NBD_CMD_TRIM = 4;
    static final int NBD_CMD_WRITE_ZEROES = 6;
    static final int NBD_CMD_BLOCK_STATUS = 7;
    static final int NBD_CMD_FLAG_FUA = 1;
    static final int NBD_CMD_FLAG_NO_HOLE = 1 << 1;
    static final int NBD_CMD_FLAG_REQ_ONE = 1 << 3;

    static final int NBD_REPLY_FLAG_DONE = 1;
    static final int NBD_REPLY_TYPE_NONE = 0;
    static final int NBD_REPLY_TYPE_OFFSET_DATA = 1;
    static final int NBD_REPLY_TYPE_BLOCK_STATUS = 5;
    static final int NBD_REPLY_TYPE_ERROR = (1 << 15) + 1;

    static final String BASE_ALLOCATION = "base:allocation";
    static final int NBD_STATE_HOLE = 1;
    static final int NBD_STATE_ZERO = 1 << 1;

    static final int NBD_EPERM = 1;
    static final int NBD_EIO = 5;
    static final int NBD_EINVAL = 22;
    static final int NBD_ENOSPC = 28;
    static final int NBD_ENOTSUP = 95;

    private NbdProtocol() {}
}
