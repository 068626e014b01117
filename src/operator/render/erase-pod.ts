/**
 * The Pod that deletes the directory of a member that has left, on its node: our own image, no token of Kubernetes, and
 * nothing of the node but the directories of this namespace: what is mounted cannot be deleted itself, and the directory
 * of the cluster goes with the last one in it. Its kubelet starts it again with a growing wait until its deadline. It ends
 * with the record of the member, which owns it; no selector of a cluster means it.
 */
import path from "node:path";
import type { Pod, PodSecurityContext } from "kubernetes-types/core/v1.d.ts";
import { API_VERSION } from "../../api/metadata.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { LABELS } from "../names.ts";
import { literal } from "./literal.ts";
import { etcdSecurity, podSecurity } from "./security.ts";
import { directoryUID } from "./volumes.ts";

export const ERASE_CONTAINER = "erase";
export const ERASE_VOLUME = "namespace";
export const ERASE_MOUNT = "/namespace";
const RESULT_FILE = "/dev/termination-log";
/** The operator waits no longer than this for it. */
const DEADLINE_SECONDS = 300;

export interface EraseWishes {
  readonly image: string;
  readonly node: string;
  /** Of the member, on the node. */
  readonly directory: string;
}

/** There is one member with this UID, ever. */
export function erasePodName({ uid }: Pick<MemberRecord, "uid">): string {
  return `erase-${uid}`;
}

export function erasePod(cluster: ClusterFacts, record: MemberRecord, wishes: EraseWishes): Pod {
  const { name, uid, memberID, token, template } = record;
  const { established } = cluster.marks;
  const { tolerations, securityContext } = template.pod;
  const { pullSecrets } = template.image;
  const clusterID = established?.token === token ? established.clusterID : undefined;
  const ofCluster = path.posix.dirname(wishes.directory);
  const known = [
    ...(clusterID === undefined ? [] : ["--cluster-id", clusterID]),
    ...(memberID === undefined ? [] : ["--member-id", memberID]),
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: erasePodName(record),
      namespace: cluster.namespace,
      labels: {
        "app.kubernetes.io/name": "quorate",
        "app.kubernetes.io/instance": cluster.name,
        "app.kubernetes.io/component": "erase",
        "app.kubernetes.io/managed-by": "quorate",
        // By it the operator finds it; every selector of a cluster asks for the component of a member too.
        [LABELS.cluster]: cluster.name,
        [LABELS.clusterUID]: cluster.uid,
        [LABELS.member]: name,
      },
      // Not its controller, and without blocking its deletion: it runs while its owner is being deleted.
      ownerReferences: [{ apiVersion: API_VERSION, kind: "EtcdMember", name, uid }],
    },
    spec: {
      // Past the scheduler: it has to be this node, whatever is full or cordoned there.
      nodeName: wishes.node,
      restartPolicy: "OnFailure",
      activeDeadlineSeconds: DEADLINE_SECONDS,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: rootOf(securityContext as PodSecurityContext | undefined),
      ...(tolerations && tolerations.length > 0 && { tolerations: [...tolerations] }),
      ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((secret) => ({ name: secret })) }),
      containers: [
        {
          name: ERASE_CONTAINER,
          image: wishes.image,
          imagePullPolicy: "IfNotPresent",
          args: [
            "member",
            "erase",
            literal(`${ERASE_MOUNT}/${path.posix.relative(path.posix.dirname(ofCluster), wishes.directory)}`),
            // An adopted directory is named by the UIDs of its former life; the IDs in its log are those of this one.
            "--uid",
            directoryUID(wishes.directory),
            "--cluster-uid",
            directoryUID(ofCluster),
            ...known,
            "--result-file",
            RESULT_FILE,
          ],
          resources: { requests: { cpu: "10m", memory: "64Mi" } },
          securityContext: ofAnyUser(),
          volumeMounts: [{ name: ERASE_VOLUME, mountPath: ERASE_MOUNT }],
        },
      ],
      volumes: [
        {
          name: ERASE_VOLUME,
          hostPath: { path: path.posix.dirname(ofCluster), type: "DirectoryOrCreate" },
        },
      ],
    },
  };
}

/** The directory belongs to root, whoever wrote into it. */
function rootOf(given: PodSecurityContext | undefined): PodSecurityContext {
  const { seLinuxOptions, appArmorProfile } = given ?? {};
  return {
    ...podSecurity("HostPath", undefined),
    ...(seLinuxOptions && { seLinuxOptions }),
    ...(appArmorProfile && { appArmorProfile }),
  };
}

/** Without this capability root cannot delete the files of another user, which members may have run as before. */
function ofAnyUser() {
  const security = etcdSecurity();
  return { ...security, capabilities: { ...security.capabilities, add: ["DAC_OVERRIDE"] } };
}
