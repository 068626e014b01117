/** Names of etcd's authentication that the resources and the decision share. */

/** A user name is also the common name of a certificate, which has at most 64 characters. */
export const LONGEST_AUTH_NAME = 64;
/** Users that Quorate makes: they are never an EtcdUser's. */
export const RESERVED_USER_PREFIX = "quorate-";
/** The user and the role that may do everything. */
export const ROOT = "root";
