/**
 * Labels, annotations and names of Kubernetes objects: what the API server would refuse on a Pod or a Service is
 * refused on the cluster already, where the one who wrote it can see it.
 */
import { withRules, type Rule } from "./rule.ts";
import { shared, stringMap, text } from "./scalars.ts";

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN = `${LABEL}([.]${LABEL})*`;
const WORD = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";

/** CEL and its twin for a text that has to match. */
const matches = (pattern: string, message: string): Rule<string> => ({
  cel: `self.matches('^${pattern}$')`,
  message,
  check: (value) => new RegExp(`^${pattern}$`).test(value),
});

/** The name of an object that has to exist, such as a Secret or a class. */
export const objectName = shared(() =>
  withRules(
    text(253),
    matches(SUBDOMAIN, "must be a valid object name: use lower-case letters, digits, dashes and dots"),
  ),
);

export const objectKind = shared(() =>
  withRules(text(63), matches("[A-Z][A-Za-z0-9]*", "must be the kind of a resource, like ClusterIssuer")),
);

/** The same, or empty: without any. */
export const objectNameOrNone = shared(() =>
  withRules(
    text(253),
    matches(
      `(${SUBDOMAIN})?`,
      "must be a valid object name: use lower-case letters, digits, dashes and dots",
    ),
  ),
);

export const containerName = shared(() =>
  withRules(
    text(63),
    matches(LABEL, "must be a valid container name: use lower-case letters, digits and dashes"),
  ),
);

type Texts = Record<string, string>;

const keys: Rule<Texts> = {
  cel: `self.all(key, key.matches('^(${SUBDOMAIN}/)?${WORD}$'))`,
  message:
    "keys must be like example.com/team or team: an optional DNS name with a slash, then at most 63 letters, digits, dashes, underscores and dots",
  check: (map) => Object.keys(map).every((key) => new RegExp(`^(${SUBDOMAIN}/)?${WORD}$`).test(key)),
};

const notReserved: Rule<Texts> = {
  cel: "self.all(key, !key.startsWith('app.kubernetes.io/') && !key.startsWith('etcd.quorate.dev/'))",
  message:
    "labels and annotations under app.kubernetes.io/ and etcd.quorate.dev/ are reserved for Quorate: choose another prefix",
  check: (map) =>
    Object.keys(map).every(
      (key) => !key.startsWith("app.kubernetes.io/") && !key.startsWith("etcd.quorate.dev/"),
    ),
};

/** Characters of up to four bytes: the server's limit is 256Ki of them for all annotations of an object. */
const MOST_ANNOTATED = 60_000;

/** As CEL counts them. */
const characters = (written: string): number => Array.from(written).length;

const together = (most: number): Rule<Texts> => ({
  cel: `self.map(key, size(key) + size(self[key])).sum() <= ${most}`,
  message: `all annotations together may have at most ${most} characters: keep larger data in a ConfigMap`,
  check: (map) =>
    Object.entries(map).reduce((sum, [key, value]) => sum + characters(key) + characters(value), 0) <= most,
});

/** What controllers of Kubernetes write on objects of one kind must not be on all. */
const notOfKubernetes: Rule<Texts> = {
  cel: "self.all(key, !key.matches('^([^/]*[.])?(kubernetes|k8s)[.]io/'))",
  message:
    "labels and annotations of kubernetes.io and k8s.io mean something on some kinds of objects and cannot be set on all: use pod.labels, pod.annotations, service.labels or service.annotations",
  check: (map) => Object.keys(map).every((key) => !/^([^/]*[.])?(kubernetes|k8s)[.]io\//.test(key)),
};

/** Beside the annotations of a Pod or a Service alone, on every object of a cluster. */
const MOST_ON_ALL = 4_000;

const labelValue = () =>
  withRules(
    text(63),
    matches(
      `(${WORD})?`,
      "must be a valid label value: letters, digits, dashes, underscores and dots, with a letter or digit at both ends",
    ),
  );

/** Labels that something has to have, ours among them. */
export const labelSelectorMap = () => withRules(stringMap(64, labelValue()), keys);
export const labelsSchema = () => withRules(labelSelectorMap(), notReserved);
export const annotationsSchema = () =>
  withRules(stringMap(64, text(16384)), keys, notReserved, together(MOST_ANNOTATED));

/** For every object of a cluster. */
export const commonLabels = () => withRules(stringMap(32, labelValue()), keys, notReserved, notOfKubernetes);
export const commonAnnotations = () =>
  withRules(stringMap(32, text(MOST_ON_ALL)), keys, notReserved, notOfKubernetes, together(MOST_ON_ALL));
