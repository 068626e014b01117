/** Mutants that change nothing anybody could see, each with the reason. Counted apart, and looked at when a line moves. */

export interface Equivalent {
  readonly file: string;
  /** The text of its line, and what becomes of it, as the list of survivors tells it. */
  readonly at: string;
  readonly what: string;
  readonly why: string;
}

type Place = readonly [file: string, at: string, what: string];

const because = (why: string, places: readonly Place[]): Equivalent[] =>
  places.map(([file, at, what]) => ({ file: `src/core/${file}`, at, what, why }));

export const equivalents: readonly Equivalent[] = [
  ...because(
    "Revisions and indexes begin at 1, and no time is near 1970: a default of 0 or 1 is below all of them.",
    [
      [
        "assess/compared.ts",
        "return view.now - (view.observation.etcd.hashes?.at ?? 0) > COMPARED_MS;",
        "0 → 1",
      ],
      [
        "rules/defragment.ts",
        "if (view.now - (view.observation.etcd.defragmentedAt[name] ?? 0) < REST_MS) return false;",
        "0 → 1",
      ],
      [
        "rules/finish-joins.ts",
        "return NUDGE_MS + Math.max(since, view.observation.etcd.nudgedAt ?? 0);",
        "0 → 1",
      ],
      [
        "rules/no-space.ts",
        "const revision = Math.max(0, ...view.members.map(({ answer }) => (answer.reachable ? answer.revision : 0)));",
        "0 → 1",
      ],

      [
        "assess/old-log.ts",
        "const until = Math.max(0, ...view.members.map(({ answer }) => (answer.reachable ? answer.raftIndex : 0)));",
        "0 → 1",
      ],
    ],
  ),

  ...because(
    "There is at most one such: names, IDs, ordinals and types are unique, so the last is the first.",
    [
      [
        "config/config-keys.ts",
        "return [...GATE_OF_SWITCH].find(([, name]) => name === gate)?.[0];",
        "find → findLast",
      ],
      [
        "version/releases.ts",
        "return RELEASES.find((release) => release.minor === minor);",
        "find → findLast",
      ],
      ["rules/corrupt.ts", "const learner = view.staying.find(", "find → findLast"],
      [
        "rules/finish-joins.ts",
        "const recorded = view.members.find((member) => member.entry?.id === entry.id)?.name;",
        "find → findLast",
      ],
      [
        "assess/newcomer.ts",
        "return view.observation.platform.offers.find((candidate) => candidate.ordinal === ordinal)?.address;",
        "find → findLast",
      ],
      [
        "plan/settle.ts",
        "id: o.members.find((facts) => facts.record.name === name)?.record.memberID ?? `id-of-${name}`,",
        "find → findLast",
      ],

      [
        "plan/settle.ts",
        "const facts = o.members.find((candidate) => find(candidate)?.id === entry.id);",
        "find → findLast",
      ],
      [
        "plan/settle.ts",
        "const answer = o.members.map((facts) => facts.answer).find((a) => a.reachable && a.memberID === entry.id);",
        "find → findLast",
      ],
      [
        "plan/settle.ts",
        "const record = o.members.find((facts) => isAt(entry, facts.record.address))?.record;",
        "find → findLast",
      ],
    ],
  ),
  ...because("For the compiler: it cannot be otherwise here.", [
    [
      "config/extra-args.ts",
      'else if (place.kind === "key") keys[place.key] = value;',
      'place.kind === "key" → true',
    ],
    [
      "config/extra-args.ts",
      "const value = kind === undefined ? undefined : toValue(kind, text);",
      "kind === undefined → false",
    ],
    ["rules/outgrown.ts", "if (!next || reason === undefined) return [];", "|| → &&"],
    ["rules/rollout.ts", "return template ? roll(view, template, step.to, target) : [];", "template → true"],
    ["rules/rollout.ts", 'if (!next) throw new RangeError("nothing to roll");', "!next → false"],
    ["rules/scale-in.ts", 'if (!first) throw new RangeError("no member to choose from");', "!first → false"],
    [
      "version/upgrade.ts",
      'if (!nextMinor) return refused("NoNextMinor", { minor: base });',
      "!nextMinor → false",
    ],
  ]),
  ...because("No plan is nearly as long.", [
    ["plan/plan.ts", "const LONGEST_PLAN = 400;", "400 → 401"],
    ["plan/plan.ts", "for (let passes = 1; passes < LONGEST_PLAN; passes++) {", "1 → 2"],
    ["plan/plan.ts", "for (let passes = 1; passes < LONGEST_PLAN; passes++) {", "< → <="],
  ]),
  ...because("With one voter nobody else is healthy, and one is needed.", [
    ["quorum.ts", "return voters > 1 && healthyOthers >= quorum(voters - 1);", "> → >="],
  ]),
  ...because("Nothing older than 3.4 is known that it could go down to.", [
    [
      "version/releases.ts",
      '{ minor: "3.4", knownGood: "3.4.45", upgradeFloor: "3.4.0", downgrades: false, v2Requests: true },',
      "false → true",
    ],
  ]),
  ...because("A record always bears a name of ours.", [
    [
      "rules/first-boot.ts",
      "const ordinal = ordinalOf(view.observation.cluster.name, absent.name) ?? 0;",
      "0 → 1",
    ],
  ]),
  ...because("Only the order of the numbers counts, and it stays.", [
    ["template/target.ts", "counts.set(key, { count: (known?.count ?? 0) + 1, template });", "0 → 1"],
    ["template/target.ts", "counts.set(key, { count: (known?.count ?? 0) + 1, template });", "1 → 2"],
  ]),
  ...because("Written over a moment later, by what the voters that answer imply.", [
    [
      "plan/settle.ts",
      "return { ...o, etcd: { ...o.etcd, list: { clusterID, linearizable: true, members: known } } };",
      "true → false",
    ],
    ["plan/settle.ts", "linearizable: !entry.isLearner,", "! → nothing"],
  ]),
  ...because("Nobody asks when nobody comes.", [["assess/size.ts", "coming.length > 0 &&", "> → >="]]),
  ...because("The default stands on both sides of the comparison.", [
    [
      "status/status-write.ts",
      'const facts = new Map<string, number>([["revision", status.revision ?? 0]]);',
      "0 → 1",
    ],
    ["status/status-write.ts", '["dbSize", dbSize ?? 0],', "0 → 1"],
    ["status/status-write.ts", '["dbSizeInUse", dbSizeInUse ?? 0],', "0 → 1"],
    ["status/status-write.ts", '["raftLag", Math.max(USUAL_LAG, raftLag ?? 0)],', "0 → 1"],
    ["status/status-write.ts", "const old = before.get(key) ?? 0;", "0 → 1"],
  ]),
  ...because("A cache: what it would have kept is worked out again, and is the same.", [
    ["template/target.ts", "if (!known) {", "!known → true"],
    ["template/target.ts", "often.set(spec, known);", "often.set(spec, known); → ;"],
    [
      "template/template.ts",
      "if (known?.version === version) return known;",
      "known?.version === version → false",
    ],
    ["template/template.ts", "rendered.set(spec, template);", "rendered.set(spec, template); → ;"],
    ["template/template.ts", "if (known === undefined) {", "known === undefined → true"],
    ["template/template.ts", "texts.set(template, known);", "texts.set(template, known); → ;"],
  ]),
  ...because("No two peers have one URL, and of what a comparison returns only the sign counts.", [
    ["template/template.ts", "return peers.toSorted((a, b) => (a.peerURL < b.peerURL ? -1 : 1));", "< → <="],
    ["template/template.ts", "return peers.toSorted((a, b) => (a.peerURL < b.peerURL ? -1 : 1));", "1 → 2"],
  ]),
  ...because("Every day of the week is among the seven before it.", [
    ["assess/window.ts", "for (let day = today - 1; day <= today + 7; day++) {", "7 → 8"],
  ]),
  ...because("The moment of the opening is inside the window, which was looked at just before.", [
    ["assess/window.ts", "if (opens > now) return opens;", "> → >="],
  ]),
];
