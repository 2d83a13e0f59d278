/** One provider's rules in the order they are tried. */
import { type Column, DataTable } from "@/components/DataTable";
import { useFormat, useMessages } from "@/i18n";
import { type ErrorRule, ruleKeys, scopeInEffect } from "@/lib/error-rules";
import { lockReason } from "@/lib/lock-reason";

type RuleListProps = {
  providerName: string;
  rules: readonly ErrorRule[];
  /** Which of them are shown; their order can be changed only while all are. */
  shown: readonly number[];
  ceiling: number | null;
  /** The rule whose panel is open. */
  openIndex: number | undefined;
  onOpen(index: number): void;
  onMove(from: number, to: number): void;
};

type Row = { readonly index: number; readonly key: string; readonly rule: ErrorRule };

export function RuleList({ providerName, rules, shown, ceiling, openIndex, onOpen, onMove }: RuleListProps) {
  const messages = useMessages();
  const words = messages.rules;
  const keys = ruleKeys(rules);
  const rows: Row[] = rules
    .map((rule, index) => ({ rule, index, key: keys[index] ?? "" }))
    .filter(({ index }) => shown.includes(index));
  const movable = rules.length > 1 && rows.length === rules.length;

  const columns: Column<Row>[] = [
    {
      id: "order",
      header: "#",
      width: "18px",
      cell: ({ index }) => <span className="text-ink-faint">{index + 1}</span>,
    },
    {
      id: "status",
      header: words.columns.status,
      width: "52px",
      cell: ({ rule }) => <span className="font-medium">{rule.status}</span>,
    },
    {
      id: "match",
      header: words.columns.match,
      width: "minmax(160px, 2fr)",
      cell: ({ rule }) => (
        <code className="font-mono" title={rule.match}>
          {rule.match}
        </code>
      ),
    },
    {
      id: "reason",
      header: words.columns.reason,
      width: "minmax(128px, 1fr)",
      cell: ({ rule: { reason = "quota_exhausted" } }) => (
        <span title={words.reasonHelp[reason]}>{lockReason(reason, messages)}</span>
      ),
    },
    {
      id: "scope",
      header: words.columns.scope,
      width: "minmax(128px, 1fr)",
      cell: ({ rule }) => {
        const scope = words.scopes[scopeInEffect(rule)];
        return <span title={scope.help}>{scope.label}</span>;
      },
    },
    {
      id: "rest",
      header: words.columns.rest,
      width: "minmax(112px, 1fr)",
      cell: ({ rule: { cooldownMs } }) => <Rest ms={cooldownMs} ceiling={ceiling} />,
    },
  ];

  return (
    <DataTable
      label={words.rulesOf(providerName)}
      rows={rows}
      columns={columns}
      rowKey={({ key }) => key}
      openKey={openIndex === undefined ? undefined : keys[openIndex]}
      onOpen={({ index }) => onOpen(index)}
      reorder={
        movable
          ? {
              label: ({ rule }, position) => words.handle(words.name(rule.status, rule.match), position, rules.length),
              move: onMove,
            }
          : undefined
      }
    />
  );
}

function Rest({ ms, ceiling }: { ms: number | undefined; ceiling: number | null }) {
  const words = useMessages().rules;
  const format = useFormat();
  if (ms === undefined) return <span className="text-ink-faint">{words.asUsual}</span>;
  if (ms === 0) return words.notAtAll;
  if (ceiling === null || ms <= ceiling) return format.span(ms);
  return (
    <span title={words.restHeld(format.span(ceiling))}>
      {format.span(ms)} <span className="ml-1 text-ink-faint text-xs">{words.heldTo(format.span(ceiling))}</span>
    </span>
  );
}
