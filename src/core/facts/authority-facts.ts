/** Facts of an observation about CAs of ours, and about what members trust and show while one of them is rotated. */
export type Plane = "client" | "peer";

/**
 * Where the rotation of a CA is. Bundle: its successor exists, and is to be trusted beside it. Reissue: the successor
 * signs, and both are trusted. Drop: the former one is to be trusted no more.
 */
export type RotationPhase = "Steady" | "Bundle" | "Reissue" | "Drop";

/** The CA of a plane, from where its key is kept. CAs are named by the first digits of their fingerprints. */
export interface AuthorityFacts {
  /** The one that signs. */
  readonly current: string;
  readonly phase: RotationPhase;
  /** Its successor in phase Bundle, its predecessor in Reissue and Drop. */
  readonly other?: string;
  /** When the phase began, by the clock of who began it. */
  readonly since?: number;
  readonly expiresAt: number;
  /** When it should be replaced by itself. */
  readonly rotateAt: number;
  /** The UID of the operation that asked for the newest rotation, if one did. */
  readonly operation?: string;
  /** The one that signs is somebody else's, who gives leaves of it. */
  readonly given?: true;
  /** So is the other one. */
  readonly otherGiven?: true;
  /**
   * Another CA than the one that signs, or than its successor, is asked for. Begin: a rotation to that. Abort: the
   * successor is wanted no more. Reverse: the predecessor is wanted again, or no more again.
   */
  readonly turn?: "Begin" | "Abort" | "Reverse";
  /** Somebody else is to give it, and what they give was not read yet or does not pass. */
  readonly awaited?: true;
  /** The CA to begin with, or that was begun with, where somebody else gives it; without it one of ours is created. */
  readonly successor?: string;
}

/** What was seen of a member on a plane whose CA is being rotated. */
export interface MemberTrust {
  /** The CA, the newer one, by whose certificate a call was answered; only of the process that runs now. */
  readonly accepts?: string;
  /** The CA that issued the certificate which it shows. */
  readonly shows?: string;
  /**
   * When the newer CA was first seen to be accepted and, once it issued what is shown, first seen so: by who runs now,
   * whatever went on before. Undefined until then.
   */
  readonly seenAt?: number;
}
