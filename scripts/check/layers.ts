/**
 * Directions of import within a folder, for imports.ts: the layers of core, of the operator and of the simulator. What
 * is not named here may go either way.
 */

interface Direction {
  readonly of: string;
  readonly not: readonly string[];
  readonly except?: readonly string[];
  readonly why: string;
}

/** Paths below a folder. */
const below = (folder: string, ...names: readonly string[]) => names.map((name) => `${folder}/${name}`);

/** What is built on all other folders of the operator. */
const OPERATOR_TOP = below("src/operator", "runtime.ts", "cluster-worker.ts", "platform.ts");

/** Folders of the operator may not import these, nor what runs a cluster. */
const operator = (folder: string, not: readonly string[], why: string): Direction => ({
  of: `src/operator/${folder}/`,
  not: [...OPERATOR_TOP, ...below("src/operator", ...not)],
  why,
});

const simulator = (folder: string, not: readonly string[], why: string): Direction => ({
  of: `sim/${folder}/`,
  not: below("sim", ...not),
  why,
});

/**
 * Directions within a folder: what files below the first path may not import, and why. A path may be a folder (with a
 * slash at its end) or a file; tests may import everything.
 */
export const within: readonly Direction[] = [
  {
    of: "src/core/rules/",
    not: ["src/core/rules/", "src/core/decide.ts", "src/core/plan/", "src/core/status/"],
    why: "a rule knows no other rule, nor their order: what two rules share belongs in assess, template or version",
  },
  {
    of: "src/core/assess/",
    not: ["src/core/rules/", "src/core/decide.ts", "src/core/plan/", "src/core/status/"],
    why: "rules ask it, not the other way round",
  },
  ...["auth", "operations", "plan", "snapshots", "template"].map((folder) => ({
    of: `src/core/${folder}/`,
    not: ["src/core/rules/"],
    why: "only the decision runs rules: what others share with one belongs in assess, template or version",
  })),
  {
    of: "src/core/messages/",
    not: [
      "src/core/rules/",
      "src/core/assess/",
      "src/core/decide.ts",
      "src/core/plan/",
      "src/core/status/",
      "src/core/view.ts",
    ],
    why: "a sentence is made from the parameters of its message alone",
  },
  {
    of: "src/core/version/",
    not: [
      "src/core/rules/",
      "src/core/assess/",
      "src/core/decide.ts",
      "src/core/plan/",
      "src/core/status/",
      "src/core/view.ts",
    ],
    why: "it knows etcd's releases and nothing of the cluster",
  },
  {
    of: "src/core/facts/",
    not: [
      ...below("src/core", "assess/", "messages/", "operations/", "plan/", "rules/", "snapshots/", "status/"),
      ...below("src/core", "steps/", "template/", "decide.ts", "view.ts"),
    ],
    why: "facts are what was seen, before anything follows from them",
  },
  {
    of: "src/core/steps/",
    not: below("src/core", "assess/", "operations/", "plan/", "rules/", "snapshots/", "status/", "decide.ts"),
    why: "what rules return is made here, whichever rule returns it",
  },
  {
    of: "src/core/config/",
    not: [
      ...below(
        "src/core",
        "rules/",
        "operations/",
        "plan/",
        "snapshots/",
        "status/",
        "template/",
        "messages/",
      ),
      "src/core/decide.ts",
      "src/core/view.ts",
    ],
    // Why a version has not what a setting asks for.
    except: ["src/core/messages/option-words.ts"],
    why: "it knows etcd's flags and files, and not what goes on in the cluster",
  },
  {
    of: "src/core/status/",
    not: ["src/core/rules/", "src/core/operations/", "src/core/decide.ts"],
    // Conditions that must never contradict the decision; see the README of core.
    except: below(
      "src/core/rules",
      "auth.ts",
      "corrupt.ts",
      "expired-authority.ts",
      "quorum-lost.ts",
      "regain-access.ts",
    ),
    why: "it says what is the case, whichever rule acted",
  },
  {
    of: "src/operator/render/",
    not: [
      "src/kube/",
      "src/etcd/",
      "src/pki/",
      "src/seams/",
      "src/control/",
      "src/operator/apply/",
      "src/operator/cache/",
    ],
    why: "objects are rendered purely from records",
  },
  {
    of: "src/operator/records/",
    not: [
      "src/kube/",
      "src/etcd/",
      "src/pki/",
      "src/seams/",
      "src/control/",
      "src/operator/apply/",
      "src/operator/cache/",
    ],
    why: "records are parsed purely from objects",
  },
  {
    of: "src/operator/observe/",
    not: ["src/kube/client.ts", "src/operator/cache/", "src/operator/status/", "src/operator/serve/"],
    why: "it turns objects into facts and calls nobody",
  },
  {
    of: "src/operator/apply/wanted.ts",
    not: ["src/kube/client.ts", "src/seams/", "src/control/", "src/operator/apply/applier.ts"],
    why: "the list of objects follows from the view and the caches, and calls nobody",
  },
  ...["render", "records", "observe"].map((folder) =>
    operator(
      folder,
      ["dependents/", "process/", "reach/", "recovery/", "serve/", "status/"],
      "objects and facts follow from what was read, whoever asks for them",
    ),
  ),
  operator(
    "apply",
    ["dependents/", "process/", "reach/", "recovery/", "serve/"],
    "it carries out one list; what recoveries want is handed in as a part of it",
  ),
  operator(
    "cache",
    ["dependents/", "process/", "recovery/", "serve/", "status/"],
    "it keeps what was read; what follows from that is decided elsewhere",
  ),
  operator(
    "reach",
    ["apply/", "dependents/", "process/", "recovery/", "serve/", "status/"],
    "it connects to etcd, and applies and reports nothing",
  ),
  operator(
    "recovery",
    ["dependents/", "process/", "reach/", "serve/", "status/"],
    "it says which Pods a recovery needs, and apply makes them",
  ),
  operator(
    "status",
    ["dependents/", "process/", "reach/", "recovery/", "serve/"],
    "it writes down what others found",
  ),
  operator(
    "dependents",
    ["process/", "reach/", "recovery/", "serve/"],
    "it reports to objects beside a cluster, and runs none",
  ),
  operator(
    "process",
    ["apply/", "cache/", "dependents/", "observe/", "reach/", "records/", "recovery/", "render/", "serve/"],
    "what concerns the process knows no cluster",
  ),
  operator(
    "serve",
    [
      "apply/",
      "dependents/",
      "observe/",
      "process/",
      "reach/",
      "records/",
      "recovery/",
      "render/",
      "status/",
    ],
    "it serves what it is handed",
  ),
  simulator(
    "engine",
    ["driver/", "guided/", "machine/", "models/", "operator/", "oracles/", "proof/", "rules/", "schema/"],
    "virtual time and randomness know nothing of what runs on them",
  ),
  simulator(
    "models",
    ["driver/", "guided/", "operator/", "oracles/", "proof/", "rules/", "schema/"],
    "a model is of etcd or Kubernetes, and knows nothing of what is tested on it",
  ),
  simulator(
    "oracles",
    ["driver/", "guided/", "machine/", "operator/", "proof/", "schema/"],
    "an oracle judges what it is shown, whatever drives it",
  ),
  simulator(
    "machine",
    ["guided/", "operator/", "proof/", "schema/"],
    "what runs on one machine knows nothing of the operator",
  ),
  simulator("rules", ["guided/", "machine/", "proof/", "schema/"], "runs of the rules need no platform"),
  ...["driver", "guided", "operator"].map((folder) =>
    simulator(folder, ["proof/", "schema/"], "both are built on the runs of others"),
  ),
];
