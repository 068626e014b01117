/** Where credentials come from that a kubeconfig does not hold itself. */

export interface Issued {
  readonly token?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Wall time; without it, they are good until the server refuses them. */
  readonly expiresAt?: number | undefined;
}

export interface CredentialSource {
  /** What is good now. The same object as long as it is. */
  current(): Promise<Issued>;
  /** The server refused these: the next `current` asks for others. */
  refused(used: Issued): void;
}
