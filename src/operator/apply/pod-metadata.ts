/**
 * Labels and annotations of a Pod that exists: the role that changes when a learner is promoted, and what the
 * spec gives. They change in place.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { MemberView, View } from "../../core/view.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";
import { givenBy, metadataPatch, withoutRemovals, type Given, type MetadataPatch } from "../render/given.ts";
import type { PodRole } from "../render/metadata.ts";

/** What the spec gives to Pods, beside what it gives to every object. */
export function podGiven({ spec }: ClusterFacts, { template }: MemberRecord): Given {
  return givenBy(spec.metadata, template.pod);
}

/**
 * A merge patch that brings the metadata of `pod` to what is wanted; undefined when it is so already. Of a spec that
 * cannot be understood it is not known what it gives: nothing is taken away.
 */
export function podMetadataPatch(
  pod: Pod,
  wanted: Pod,
  given: Given,
  isUnderstood: boolean,
): MetadataPatch | undefined {
  // What it was started from does not change with the record, and a touch is more than a note.
  const {
    [ANNOTATIONS.startedFrom]: _start,
    [ANNOTATIONS.latched]: _touch,
    [ANNOTATIONS.given]: _note,
    ...annotations
  } = wanted.metadata?.annotations ?? {};
  const patch = metadataPatch(pod, { labels: wanted.metadata?.labels, annotations }, given);
  return isUnderstood ? patch : withoutRemovals(patch);
}

/** The role that a Pod is labelled with: clients are sent to voters that are not fenced. */
export function podRole(view: View, member: MemberView, pod: Pod | undefined): PodRole {
  const votes = isVoter(view, member, pod);
  if (member.fenced) return votes ? "fenced-voter" : "fenced-learner";
  return votes ? "voter" : "learner";
}

/** Founders vote from the start; whoever joins does from its promotion on. As labelled while etcd does not answer. */
function isVoter(view: View, { entry, record }: MemberView, pod: Pod | undefined): boolean {
  if (entry) return !entry.isLearner;
  const known = pod?.metadata?.labels?.[LABELS.role];
  if (known === "voter" || known === "fenced-voter") return true;
  if (known === "learner" || known === "fenced-learner") return false;
  const hasVoted = record.joined && record.role === "Voter" && !view.observation.etcd.list;
  return record.boot === "New" || hasVoted;
}
