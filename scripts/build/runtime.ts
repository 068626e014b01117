/** How Node runs the program in the image: where both are, and with which flags of V8 and variables. */
export const NODE = "usr/local/bin/node";
export const PROGRAM = "app/quorate.mjs";

/**
 * Of whatever runs once or streams data: snapshots, verification, change logs, reads of volumes. With the optimizing
 * compilers, without which a snapshot takes 1.6 times the processor time, and with a small young generation: little lives
 * longer than a chunk. One of 1 MB is collected so often that chunks on their way to the disk grow old in it: a snapshot
 * then takes 1.2 times the processor time and 15 MB more than with 4 MB, and 8 MB take no time away.
 */
export const NODE_FLAGS = ["--max-semi-space-size=4"] as const;

/**
 * Of the operator, whose Deployment gives them. For little memory: a small young generation, and no optimizing
 * compiler, whose code and whose own memory are 12 MB. The baseline compiler stays, since it takes a third of the time
 * away with two hundred clusters at rest, but only for what runs often: most functions run a few times and never again,
 * and V8 keeps notes for each after its eighth run. One thread of V8's own is enough to help with collecting: each keeps
 * memory of its own. What was compiled is dropped after two collections without use, not after six: it is compiled again
 * in no time.
 */
export const OPERATOR_FLAGS = [
  "--max-semi-space-size=1",
  "--no-opt",
  "--no-maglev",
  "--sparkplug",
  "--invocation-count-for-feedback-allocation=256",
  "--optimize-for-size",
  "--bytecode-old-age=2",
  "--v8-pool-size=1",
] as const;

/** What it is asked before it is shipped, so that Node keeps what was compiled: this loads all that it starts with. */
export const OPERATOR_AHEAD = ["operator", "--help"] as const;

/** Free memory goes back to the system; each thread would keep an arena of its own. */
export const MEMORY_ENV = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" } as const;
