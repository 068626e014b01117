/** Why a snapshot could not be verified, as one word that code compares and a sentence that says what to do. */

export type VerificationFault = "ObjectMissing" | "NoSpace" | "RestoreFailed";

/** Where it is neither the store's fault nor damage of the snapshot. */
export class VerificationError extends Error {
  override name = "VerificationError";
  readonly fault: VerificationFault;
  constructor(fault: VerificationFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
