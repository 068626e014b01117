/**
 * The SHA256SUMS file of an etcd release: one line per archive, hash and file name.
 */

/** The hash of `file` in lower case, or undefined when the list does not have it. */
export function findChecksum(sums: string, file: string): string | undefined {
  for (const line of sums.split("\n")) {
    const match = /^([0-9a-fA-F]{64})\s+\*?(\S+)\s*$/.exec(line);
    if (match?.[2] === file) return match[1]?.toLowerCase();
  }
  return undefined;
}
