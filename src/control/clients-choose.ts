/**
 * Since when clients can come as the spec asks for, beside the ways that it ends (R56): they have that long to change.
 * Kept by nobody else, so that after an outage of the operator they have the whole time again.
 */
import { endingWays, waysOf } from "../core/template/client-ways.ts";
import { templateFor } from "../core/template/template.ts";
import type { View } from "../core/view.ts";

export class ClientsChoose {
  #choice: { readonly of: string; readonly since: number } | undefined;

  /**
   * The mark since when, as things are at the mark `at`; undefined where nothing is about to end. It is kept until the
   * last member has closed these ways: the first that has may be a learner that leaves again before the others follow.
   */
  since({ staying, spec }: Pick<View, "staying" | "spec">, at: number): number | undefined {
    const { tls } = templateFor(spec, spec.version);
    const running = staying.map(({ record }) => record.template.tls);
    const ending = endingWays(running, tls) ?? [];
    // Of members that are told not to run, nobody is served in any way.
    const isMeantToServe = staying.every(({ record }) => record.run);
    const choice =
      isMeantToServe && ending.length > 0 ? [ending.toSorted(), waysOf(tls)].join(" to ") : undefined;
    if (choice === undefined) this.#choice = undefined;
    // From when all of them run so.
    else if (this.#choice?.of !== choice)
      this.#choice = staying.every(({ upToDate, healthy }) => upToDate && healthy)
        ? { of: choice, since: at }
        : undefined;
    return this.#choice?.since;
  }
}
