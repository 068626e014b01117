/** One entry of the list of wanted objects: what the object is called, whose it is, and what is done about it. */
import type { PersistentVolumeClaim, Secret } from "kubernetes-types/core/v1.d.ts";
import type { UserFacts } from "../../core/auth/facts.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { MemberView } from "../../core/view.ts";
import type { KubeObject, Resource } from "../../kube/resources.ts";
import type { Plane } from "../../pki/plan.ts";
import type { clientSecret } from "../render/secret.ts";
import type { VolumeIdentity } from "../render/volume-identity.ts";

export interface Wanted {
  /** What problems call it. It fails, waits and is tried again under this name, apart from all others. */
  readonly part: string;
  readonly resource: Resource;
  /** Parts of entries above that are tried before it. */
  readonly after?: readonly string[];
  /** The same, and without these it is not tried. */
  readonly needs?: readonly string[];
  readonly policy: Policy;
}

/**
 * `known` is as cached. `isOurs` goes by the UID of the owner, since a name proves nothing (I9): what is somebody else's
 * is told of and left alone.
 */
export type Policy =
  /** Created if it is absent, then left as it is. */
  | ({ readonly do: "create"; readonly object: KubeObject } & Known)
  /** Created, and applied (server-side) where a field of ours differs. `at`: whose address a new one asks for. */
  | ({ readonly do: "apply"; readonly object: KubeObject; readonly at?: MemberRecord } & Known)
  /** These fields of one that exists. */
  | ({ readonly do: "patch"; readonly known: KubeObject; readonly fields: Fields } & HowPatched)
  /** Deleted, unless the API server has a record of this member that the cache lacks. */
  | { readonly do: "delete"; readonly known: KubeObject; readonly unlessRecorded?: string }
  /** A Secret whose files are issued: created, then our own files in it patched; an authority is only ever created. */
  | ({ readonly do: "issue"; readonly name: string; readonly secret: Issued } & Known<Secret>)
  /** The certificates of a plane that somebody else makes: read, checked, and from then on given to members. */
  | { readonly do: "take"; readonly name: string; readonly plane: Plane }
  /** On the PersistentVolume of a claim, what it holds; then `fields` on the claim, with `noted` if it was written. */
  | {
      readonly do: "mark";
      readonly known: PersistentVolumeClaim;
      readonly identity: VolumeIdentity;
      readonly fields: Fields | undefined;
      readonly noted: Fields;
    }
  /** Neither made nor changed: it would do harm, and the status says why. */
  | { readonly do: "refuse"; readonly name: string; readonly why: string }
  /** A Pod: created when its record permits it. What changes in place on one that exists is in `apply-members.ts`. */
  | { readonly do: "run"; readonly member: MemberView };

interface Known<T extends KubeObject = KubeObject> {
  readonly known: T | undefined;
  readonly isOurs: (found: KubeObject) => boolean;
}

/** A merge patch. */
export type Fields = Readonly<Record<string, unknown>> & { readonly metadata?: object };

export interface HowPatched {
  /** Only in the version that was read. */
  readonly exact?: true;
  /** What a refusal means to who reads the status. */
  readonly refused?: (why: string) => string;
}

export type Issued =
  | { readonly of: "authority"; readonly plane: Plane }
  | { readonly of: "member"; readonly record: MemberRecord }
  | { readonly of: "client"; readonly commonName: string; readonly render: typeof clientSecret }
  /** The certificate of an EtcdUser. */
  | { readonly of: "user"; readonly user: UserFacts }
  /** What members sign auth tokens with. */
  | { readonly of: "token" }
  /** A password that nobody gave, made once. */
  | { readonly of: "password"; readonly user: string };
