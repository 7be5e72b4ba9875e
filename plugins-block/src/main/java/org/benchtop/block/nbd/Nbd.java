package org.benchtop.block.nbd;

/** Numbers of the NBD protocol. Source: the protocol document of the NetworkBlockDevice project (doc/proto.md). */
final class Nbd {
    static final long NBDMAGIC = 0x4e42444d41474943L;
    static final long IHAVEOPT = 0x49484156454F5054L;
    static final long OLDSTYLE_MAGIC = 0x00420281861253L;
    static final long OPTION_REPLY_MAGIC = 0x3e889045565a9L;

    static final int NBD_FLAG_FIXED_NEWSTYLE = 1;
    static final int NBD_FLAG_NO_ZEROES = 2;

    static final int NBD_OPT_EXPORT_NAME = 1;
    static final int NBD_OPT_ABORT = 2;
    static final int NBD_OPT_GO = 7;
    static final int NBD_OPT_STRUCTURED_REPLY = 8;

    static final int NBD_REP_ACK = 1;
    static final int NBD_REP_INFO = 3;
    static final int NBD_REP_ERR = 1 << 31;
    static final int NBD_REP_ERR_UNSUP = NBD_REP_ERR + 1;
    static final int NBD_REP_ERR_POLICY = NBD_REP_ERR + 2;
    static final int NBD_REP_ERR_TLS_REQD = NBD_REP_ERR + 5;
    static final int NBD_REP_ERR_UNKNOWN = NBD_REP_ERR + 6;

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
    static final int REQUEST_BYTES = 28;

    static final int NBD_CMD_READ = 0;
    static final int NBD_CMD_WRITE = 1;
    static final int NBD_CMD_DISC = 2;
    static final int NBD_CMD_FLUSH = 3;
    static final int NBD_CMD_TRIM = 4;
    static final int NBD_CMD_WRITE_ZEROES = 6;
    static final int NBD_CMD_FLAG_FUA = 1;
    static final int NBD_CMD_FLAG_NO_HOLE = 1 << 1;

    static final int NBD_REPLY_FLAG_DONE = 1;
    static final int NBD_REPLY_TYPE_NONE = 0;
    static final int NBD_REPLY_TYPE_OFFSET_DATA = 1;
    static final int NBD_REPLY_TYPE_OFFSET_HOLE = 2;
    static final int NBD_REPLY_TYPE_ERROR_BIT = 1 << 15;

    static final int NBD_ENOSPC = 28;

    private Nbd() {}
}
