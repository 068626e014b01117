/**
 * Carries out the list of wanted objects: each entry for itself, as soon as those that it comes after were tried, so
 * that what cannot be made keeps nothing else from being made. What is there as wanted costs no call; what failed is
 * not tried again on every pass.
 */
import type { View } from "../../core/view.ts";
import { isReason } from "../../kube/errors.ts";
import type { KubeObject, Resource } from "../../kube/resources.ts";
import { claims } from "../resources.ts";
import { applyPod } from "./apply-members.ts";
import { issueSecret } from "./apply-secrets.ts";
import { takeGiven } from "./given.ts";
import { keepApplied, keepCreated } from "./keep.ts";
import { partsOf } from "./not-made.ts";
import { ObjectGone, type ApplyContext, type Outcomes } from "./outcomes.ts";
import { assertUnrecorded } from "./peer-services.ts";
import type { Policy, Wanted } from "./wanted-object.ts";

type As<Do extends Policy["do"]> = Extract<Policy, { do: Do }>;

export class Applier {
  readonly #context: ApplyContext;
  readonly #view: View;
  readonly #outcomes: Outcomes;
  /** The parts whose object is there and ours. */
  readonly #made = new Set<string>();

  constructor(context: ApplyContext, view: View, outcomes: Outcomes) {
    this.#context = context;
    this.#view = view;
    this.#outcomes = outcomes;
  }

  async walk(list: readonly Wanted[]): Promise<void> {
    const tries = new Map<string, Promise<unknown>>();
    for (const wanted of list) {
      const { part, after = [], needs = [] } = wanted;
      const before = Promise.all([...after, ...needs].flatMap((one) => tries.get(one) ?? []));
      const turn = async () => {
        await before;
        if (!needs.every((one) => this.#made.has(one))) return;
        await this.#outcomes.part(part, async () => {
          if (await this.#carryOut(wanted)) this.#made.add(part);
        });
      };
      // Two entries may be one part: both are waited for.
      tries.set(part, Promise.all([tries.get(part), turn()]));
    }
    await Promise.all(tries.values());
  }

  /** True when the object is in place. */
  async #carryOut({ resource, policy }: Wanted): Promise<boolean> {
    const [context, view, outcomes] = [this.#context, this.#view, this.#outcomes];
    const { client, contests, peerServices } = context;
    switch (policy.do) {
      case "create": {
        const { object, known, isOurs } = policy;
        return outcomes.note(resource, await keepCreated(client, resource, object, known, isOurs));
      }
      case "apply": {
        const { object, known, isOurs, at } = policy;
        const keep = async (asNew?: (one: KubeObject) => KubeObject) =>
          await keepApplied(client, resource, object, known, isOurs, contests, asNew);
        return outcomes.note(resource, await (at ? peerServices.keepAt(at, known, keep) : keep()));
      }
      case "issue":
        return await issueSecret(context, view, policy, outcomes);
      case "refuse":
        throw new Error(policy.why);
      case "take":
        return await takeGiven(context, view, policy.plane, outcomes);
      case "run": {
        const isConfigured = this.#made.has(partsOf.secret(policy.member.name));
        await applyPod(context, view, policy.member, isConfigured, outcomes);
        return true;
      }
      case "mark": {
        const { known, identity, noted } = policy;
        const isMarked = await context.volumeMarks.mark(known, identity);
        const fields = isMarked ? noted : policy.fields;
        if (fields === undefined) return true;
        await this.#patch(claims, { do: "patch", known, fields });
        break;
      }
      case "patch":
        await this.#patch(resource, policy);
        break;
      case "delete":
        await this.#delete(resource, policy);
        break;
    }
    outcomes.changed = true;
    return true;
  }

  async #patch(resource: Resource, { known, fields, exact, refused }: As<"patch">): Promise<void> {
    const { client, contests } = this.#context;
    const { name = "", namespace = "", uid = "", resourceVersion = "" } = known.metadata ?? {};
    const version = exact ? { uid, resourceVersion } : { uid };
    const write = () => client.patch(resource, { name, namespace }, fields, version);
    try {
      await contests.write(resource, known, fields, write);
    } catch (error) {
      if (isReason(error, "NotFound")) throw new ObjectGone(error.message, { cause: error });
      if (!refused || !isReason(error, "Forbidden", "Invalid")) throw error;
      throw new Error(refused(error.message), { cause: error });
    }
  }

  async #delete(resource: Resource, { known, unlessRecorded }: As<"delete">): Promise<void> {
    const { client } = this.#context;
    const { name = "", namespace = "", uid = "" } = known.metadata ?? {};
    if (unlessRecorded !== undefined)
      await assertUnrecorded(client, this.#view.observation.cluster, unlessRecorded);
    await client.delete(resource, { name, namespace }, { uid });
  }
}
