/** A flag that changes nothing, and the one that ends every command at once: see restore.ts. */
export const RESTORE_FLAG = { pending: "--skip-hash-check=false", done: "--help" } as const;
