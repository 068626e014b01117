/** Names of members, as parameters of messages have them. */
export type Names = readonly string[];
