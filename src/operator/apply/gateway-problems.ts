/**
 * Why an issuer gives no certificate to the gateways of members, such as one that insists on a common name (R55): a
 * warning, since it stops only those who come by HTTP, and no problem that keeps the cluster from being Ready.
 */
import type { Keeper } from "../../pki/keeper.ts";
import { dialler } from "./leaf-specs.ts";

export class GatewayProblems {
  /** By member. */
  readonly #why = new Map<string, string>();

  /** Takes it out of what keeps the cluster from being Ready. */
  take(keeper: Pick<Keeper, "report">, member: string, leaf: string, why: string | undefined): void {
    keeper.report(leaf, undefined);
    if (why === undefined) this.#why.delete(member);
    else this.#why.set(member, why);
  }

  /** Neither the end of its certificate nor what is wrong with that is of anything that is used. */
  forget(keeper: Pick<Keeper, "forget">, member: string): void {
    this.#why.delete(member);
    keeper.forget(dialler(member, "client"));
  }

  /** For `status.warnings`. */
  get warnings(): readonly string[] {
    return [...new Set(this.#why.values())].map(
      (why) => `etcd's HTTP gateway may not reach its member, all else works: ${why}`,
    );
  }
}
