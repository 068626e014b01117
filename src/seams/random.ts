/**
 * Randomness as a port, for the same reason as `clock.ts`: a simulated run is a function of its seed.
 * The real one draws from the operating system and is good enough for tokens.
 */
import { randomBytes } from "node:crypto";

export interface Random {
  /** `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

export const systemRandom: Random = {
  bytes: (length) => new Uint8Array(randomBytes(length)),
};

/** `length` bytes as lower-case hex. */
export function hex(random: Random, length: number): string {
  return Buffer.from(random.bytes(length)).toString("hex");
}
