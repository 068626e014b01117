/** Pods: the many defaults of their spec, what may be changed of it, and their grace. */
import { normalised } from "../built-in.ts";
import { kindOf, type Kind, type Surroundings } from "../kind.ts";
import { items, json, same, type Json, type KubeJson } from "../object.ts";
import { causes, type Cause } from "../refusal.ts";
import { leaf, list, map, metadataSchema, part, plain, struct } from "../schema.ts";
import { containerDefaults, volumeDefaults } from "./pod-defaults.ts";

const probe = struct({ httpGet: struct({ httpHeaders: leaf }), exec: struct({ command: leaf }) });

const containers = list(
  ["name"],
  struct({
    resources: part({ limits: map(), requests: map() }),
    ports: list(["containerPort", "protocol"], struct({}, leaf), { protocol: "TCP" }),
    env: list(
      ["name"],
      struct({ valueFrom: struct({ fieldRef: leaf, secretKeyRef: leaf, configMapKeyRef: leaf }) }),
    ),
    volumeMounts: list(["mountPath"], struct({ readOnly: plain })),
    command: leaf,
    args: leaf,
    startupProbe: probe,
    livenessProbe: probe,
    readinessProbe: probe,
    securityContext: struct({ capabilities: struct({ add: leaf, drop: leaf }) }),
  }),
);

const schema = struct(
  {
    metadata: metadataSchema,
    spec: part({
      containers,
      initContainers: containers,
      volumes: list(["name"]),
      imagePullSecrets: list(["name"]),
      schedulingGates: list(["name"]),
      topologySpreadConstraints: list(["topologyKey", "whenUnsatisfiable"], struct({ labelSelector: leaf })),
      tolerations: leaf,
      nodeSelector: leaf,
      securityContext: struct({ seccompProfile: struct({}), supplementalGroups: leaf, sysctls: leaf }),
      hostNetwork: plain,
      hostPID: plain,
      hostIPC: plain,
      nodeName: plain,
    }),
    status: part({
      conditions: list(["type"]),
      podIPs: list(["ip"]),
      hostIPs: leaf,
      containerStatuses: leaf,
      initContainerStatuses: leaf,
    }),
  },
  "none",
);

function decode(object: Json): Json {
  const pod = normalised(schema, object) as Json;
  const spec = json(pod["spec"]);
  const volumes = items(spec["volumes"]);
  const init = items(spec["initContainers"]);
  const status = json(pod["status"]);
  const conditions = items(status["conditions"]).map((one) => ({
    lastProbeTime: null,
    lastTransitionTime: null,
    ...one,
  }));
  return {
    ...pod,
    status: { ...status, ...(conditions.length > 0 && { conditions }) },
    spec: {
      restartPolicy: "Always",
      dnsPolicy: "ClusterFirst",
      schedulerName: "default-scheduler",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      enableServiceLinks: true,
      ...spec,
      ...(spec["containers"] !== undefined && {
        containers: items(spec["containers"]).map(containerDefaults),
      }),
      ...(init.length > 0 && { initContainers: init.map(containerDefaults) }),
      ...(volumes.length > 0 && { volumes: volumes.map(volumeDefaults) }),
    },
  };
}

const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Account, token, priority and tolerations, which admission adds and nobody owns. */
function admit(object: Json, surroundings: Surroundings): Json {
  const spec = json(object["spec"]);
  const account = spec["serviceAccountName"] ?? "default";
  const added: Record<string, unknown> = {
    ...spec,
    serviceAccountName: account,
    serviceAccount: account,
    priority: 0,
    preemptionPolicy: "PreemptLowerPriority",
    tolerations: tolerations(items(spec["tolerations"]), surroundings.tolerationSeconds),
  };
  if (spec["automountServiceAccountToken"] !== false) {
    const name = `kube-api-access-${surroundings.suffix()}`;
    const mount = { name, readOnly: true, mountPath: TOKEN_PATH };
    const mounting = (field: string) =>
      items(spec[field]).map((container) => ({
        ...container,
        volumeMounts: [...items(container["volumeMounts"]), mount],
      }));
    added["volumes"] = [...items(spec["volumes"]), tokenVolume(name)];
    added["containers"] = mounting("containers");
    if (spec["initContainers"] !== undefined) added["initContainers"] = mounting("initContainers");
  }
  return { ...object, spec: added };
}

function tokenVolume(name: string): Json {
  const sources = [
    { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
      },
    },
  ];
  return { name, projected: { sources, defaultMode: 420 } };
}

function tolerations(given: readonly Json[], tolerationSeconds: number): readonly Json[] {
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) =>
      !given.some(
        (one) =>
          (one["key"] === key || one["key"] === undefined) &&
          (one["effect"] === "NoExecute" || one["effect"] === undefined),
      ),
  );
  return [
    ...given,
    ...missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds })),
  ];
}

function qosClass(spec: Json): string {
  const resources = [...items(spec["containers"]), ...items(spec["initContainers"])].map((container) =>
    json(container["resources"]),
  );
  const has = resources.map((one) => ({ limits: json(one["limits"]), requests: json(one["requests"]) }));
  if (has.every(({ limits, requests }) => same(limits, {}) && same(requests, {}))) return "BestEffort";
  const whole = has.every(
    ({ limits, requests }) =>
      limits["cpu"] !== undefined && limits["memory"] !== undefined && same(limits, requests),
  );
  return whole ? "Guaranteed" : "Burstable";
}

function check(object: KubeJson, old: KubeJson | undefined, subresource: string): readonly Cause[] {
  if (subresource !== "") return [];
  const spec = json(object["spec"]);
  if (old) return changes(spec, json(old["spec"]));
  const list = items(spec["containers"]);
  if (list.length === 0) return [causes.required("spec.containers")];
  return list.flatMap((container, i) => [
    ...(container["name"] ? [] : [causes.required(`spec.containers[${i}].name`)]),
    ...(container["image"] ? [] : [causes.required(`spec.containers[${i}].image`)]),
  ]);
}

function changes(spec: Json, old: Json): readonly Cause[] {
  if (items(spec["containers"]).length !== items(old["containers"]).length)
    return [causes.forbidden("spec.containers", "pod updates may not add or remove containers")];
  const had = items(old["schedulingGates"]);
  const added = items(spec["schedulingGates"]).findIndex((gate) => !had.some((before) => same(before, gate)));
  if (added >= 0)
    return [causes.forbidden(`spec.schedulingGates[${added}].name`, "only deletion is allowed")];
  return same(frozenPart(spec, old), old) ? [] : [UNCHANGEABLE];
}

const UNCHANGEABLE = causes.forbidden(
  "spec",
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
);

/** The spec with everything that may differ put back to what it was. */
function frozenPart(spec: Json, old: Json): Json {
  const images = (field: string) =>
    items(spec[field]).map((container, i) => ({ ...container, image: items(old[field])[i]?.["image"] }));
  const gates = items(spec["schedulingGates"]);
  const fewer = gates.every((gate) => items(old["schedulingGates"]).some((before) => same(before, gate)));
  const kept = items(old["tolerations"]).every((one) =>
    items(spec["tolerations"]).some((after) => same(after, one)),
  );
  const [deadline, before] = [spec["activeDeadlineSeconds"], old["activeDeadlineSeconds"]];
  const sooner = deadline !== undefined && (before === undefined || Number(deadline) <= Number(before));
  return {
    ...spec,
    ...(sooner && { activeDeadlineSeconds: before }),
    containers: images("containers"),
    ...(spec["initContainers"] !== undefined && { initContainers: images("initContainers") }),
    ...(kept && { tolerations: old["tolerations"] }),
    ...(fewer && { schedulingGates: old["schedulingGates"] }),
  };
}

export const pods: Kind = kindOf({
  apiVersion: "v1",
  kind: "Pod",
  plural: "pods",
  schema,
  zero: { spec: { containers: null }, status: {} },
  hasStatus: true,
  counts: true,
  answersDeleted: true,
  selectable: {
    "spec.nodeName": ({ spec }) => String(json(spec)["nodeName"] ?? ""),
    "spec.restartPolicy": ({ spec }) => String(json(spec)["restartPolicy"] ?? ""),
    "status.phase": ({ status }) => String(json(status)["phase"] ?? ""),
    "status.podIP": ({ status }) => String(json(status)["podIP"] ?? ""),
  },
  decode,
  admit,
  prepare(object, old, surroundings) {
    const spec = json(object["spec"]);
    // Added on every write, so that a list that leaves them out does not take them away.
    const kept = tolerations(items(spec["tolerations"]), surroundings.tolerationSeconds);
    if (old) return { ...object, spec: { ...spec, tolerations: kept } };
    const gated = items(spec["schedulingGates"]).length > 0;
    const conditions = [
      {
        type: "PodScheduled",
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: surroundings.now(),
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
    ];
    return {
      ...object,
      status: { phase: "Pending", ...(gated && { conditions }), qosClass: qosClass(spec) },
    };
  },
  check,
  grace(object, asked) {
    const { nodeName, terminationGracePeriodSeconds = 30 } = json(object["spec"]);
    const phase = json(object["status"])["phase"];
    // Nobody runs it, so nobody has to be waited for.
    if (nodeName === undefined || phase === "Failed" || phase === "Succeeded") return 0;
    const seconds = asked ?? Number(terminationGracePeriodSeconds);
    return seconds < 0 ? 1 : seconds;
  },
});
