/**
 * Secrets: of each member its files, of each plane its authority, and the client certificates of the operator
 * and of the users. Only their shape is given here; what is in them comes from the caller.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { Buffer } from "node:buffer";
import { userSecretName } from "../../api/etcd-user.ts";
import type { UserFacts } from "../../core/auth/facts.ts";
import type { MemberRecord } from "../../core/record.ts";
import { memberSecretName, secretNames } from "../names.ts";
import { givenBy, withGiven } from "./given.ts";
import {
  clusterLabels,
  memberObjectLabels,
  ownedByCluster,
  ownedByMember,
  ownedByUser,
  type Identity,
} from "./metadata.ts";

/** PEM texts. */
export interface TLSFiles {
  readonly certificate: string;
  readonly key: string;
  /** Who signed it, and whom to trust. */
  readonly ca: string;
}

/** `files` by the names in FILES. */
export function memberSecret(
  cluster: Identity,
  record: Pick<MemberRecord, "name" | "uid">,
  files: Readonly<Record<string, string>>,
  annotations?: Readonly<Record<string, string>>,
): Secret {
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: memberSecretName(record.name),
      namespace: cluster.namespace,
      labels: memberObjectLabels(cluster, record),
      ...(annotations && { annotations: { ...annotations } }),
      ownerReferences: [ownedByMember(record)],
    },
    type: "Opaque",
    data: encoded(files),
  };
  return withGiven(secret, givenBy(cluster.spec?.metadata));
}

/** Created if absent and never rewritten: every certificate of the plane hangs on it. */
export function caSecret(cluster: Identity, plane: "client" | "peer", files: TLSFiles): Secret {
  const { clientCA, peerCA } = secretNames(cluster.name);
  return tlsSecret(cluster, plane === "client" ? clientCA : peerCA, files);
}

/** For the users of the cluster. */
export function clientSecret(cluster: Identity, files: TLSFiles): Secret {
  return tlsSecret(cluster, secretNames(cluster.name).client, files);
}

export function operatorSecret(cluster: Identity, files: TLSFiles): Secret {
  return tlsSecret(cluster, secretNames(cluster.name).operator, files);
}

/** For the process that takes snapshots. */
export function snapshotSecret(cluster: Identity, files: TLSFiles): Secret {
  return tlsSecret(cluster, secretNames(cluster.name).snapshot, files);
}

/** Of an EtcdUser, with which it goes. */
export function userSecret(
  cluster: Identity,
  user: Pick<UserFacts, "object" | "uid">,
  files: TLSFiles,
): Secret {
  return tlsSecret(cluster, userSecretName(user.object), files, ownedByUser(user));
}

function tlsSecret(
  cluster: Identity,
  name: string,
  { certificate, key, ca }: TLSFiles,
  owner = ownedByCluster(cluster),
): Secret {
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace: cluster.namespace,
      labels: clusterLabels(cluster),
      ownerReferences: [owner],
    },
    type: "kubernetes.io/tls",
    data: encoded({ "tls.crt": certificate, "tls.key": key, "ca.crt": ca }),
  };
  return withGiven(secret, givenBy(cluster.spec?.metadata));
}

/** Of a user that we make ourselves, in the form in which Kubernetes has names with passwords. */
export function passwordSecret(cluster: Identity, name: string, username: string, password: string): Secret {
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace: cluster.namespace,
      labels: clusterLabels(cluster),
      ownerReferences: [ownedByCluster(cluster)],
    },
    type: "kubernetes.io/basic-auth",
    data: encoded({ username, password }),
  };
  return withGiven(secret, givenBy(cluster.spec?.metadata));
}

/** What members sign auth tokens with; `keys` by the names of their files. */
export function tokenSecret(cluster: Identity, keys: Readonly<Record<string, string>>): Secret {
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: secretNames(cluster.name).tokenKeys,
      namespace: cluster.namespace,
      labels: clusterLabels(cluster),
      ownerReferences: [ownedByCluster(cluster)],
    },
    type: "Opaque",
    data: encoded(keys),
  };
  return withGiven(secret, givenBy(cluster.spec?.metadata));
}

function encoded(files: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString("base64")]);
  return Object.fromEntries(entries) as Record<string, string>;
}
