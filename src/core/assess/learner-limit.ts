/** How many learners etcd takes at once: one number for every member, by which files and rules agree. */

/**
 * `--max-learners` of every member from 3.6 on, from its first boot, for ever: members with unequal limits
 * split the membership (H1). Room for all standing learners and all voters that may ever join together.
 */
export const MAX_LEARNERS = 18;
