/** Who consumed how much, the greatest part first. */
import type { UsageGroup } from "@/bindings";
import { type Column, DataTable } from "@/components/DataTable";
import { useFormat, useMessages } from "@/i18n";
import { answeredPart } from "@/lib/usage";
import type { Measure } from "./search";

type UsageTableProps = {
  label: string;
  groups: readonly UsageGroup[];
  nameOf(group: UsageGroup): string;
  mono: boolean;
  measure: Measure;
};

const keyOf = ({ group }: UsageGroup) => group ?? "";

export function UsageTable({ label, groups, nameOf, mono, measure }: UsageTableProps) {
  const words = useMessages().usage;
  const format = useFormat();
  const amount = (group: UsageGroup) =>
    measure === "cost" ? group.cost : measure === "tokens" ? group.tokensInput + group.tokensOutput : group.requests;
  const whole = groups.reduce((sum, group) => sum + amount(group), 0);
  const rows = [...groups].sort((a, b) => amount(b) - amount(a) || b.requests - a.requests);
  const columns: Column<UsageGroup>[] = [
    {
      id: "name",
      header: label,
      width: "minmax(150px, 2fr)",
      cell: (group) => (
        <span
          title={nameOf(group)}
          className={group.group === null ? "text-ink-faint" : mono ? "font-mono" : "font-medium"}
        >
          {nameOf(group)}
        </span>
      ),
    },
    {
      id: "share",
      header: words.shareOf[measure],
      width: "minmax(80px, 1fr)",
      snug: true,
      cell: (group) => <Share part={whole > 0 ? amount(group) / whole : 0} />,
    },
    {
      id: "requests",
      header: words.columns.requests,
      width: "80px",
      align: "end",
      cell: ({ requests }) => format.number(requests),
    },
    {
      id: "answered",
      header: words.columns.answered,
      width: "76px",
      align: "end",
      cell: (group) => {
        const part = answeredPart(group);
        return part === null ? (
          <span className="text-ink-faint">–</span>
        ) : (
          <span title={words.requestsOf(format.number(group.requests), format.number(group.failures))}>
            {format.percent(part)}
          </span>
        );
      },
    },
    {
      id: "input",
      header: words.columns.input,
      width: "80px",
      align: "end",
      cell: ({ tokensInput, tokensCacheRead }) => (
        <span
          title={[
            words.tokensOf(format.number(tokensInput)),
            tokensInput > 0 && tokensCacheRead > 0 && words.cached(format.percent(tokensCacheRead / tokensInput)),
          ]
            .filter(Boolean)
            .join(", ")}
        >
          {format.compact(tokensInput)}
        </span>
      ),
    },
    {
      id: "output",
      header: words.columns.output,
      width: "84px",
      align: "end",
      cell: ({ tokensOutput, tokensReasoning }) => (
        <span
          title={[
            words.tokensOf(format.number(tokensOutput)),
            tokensReasoning > 0 && words.reasoning(format.compact(tokensReasoning)),
          ]
            .filter(Boolean)
            .join(", ")}
        >
          {format.compact(tokensOutput)}
        </span>
      ),
    },
    {
      id: "cost",
      header: words.columns.cost,
      width: "84px",
      align: "end",
      cell: ({ cost }) => (cost === 0 ? <span className="text-ink-faint">–</span> : format.dollars(cost)),
    },
  ];
  return <DataTable label={label} rows={rows} columns={columns} rowKey={keyOf} />;
}

function Share({ part }: { part: number }) {
  const format = useFormat();
  return (
    <span className="flex items-center gap-2">
      <span aria-hidden className="h-1.5 min-w-0 flex-1 rounded-full bg-sunken">
        <span
          className="block h-full rounded-full bg-accent"
          style={{ width: part > 0 ? `max(2px, ${part * 100}%)` : 0 }}
        />
      </span>
      <span className="w-9 text-right text-ink-soft">
        {part > 0 && part < 0.005 ? `<${format.percent(0.01)}` : format.percent(Math.round(part * 100) / 100)}
      </span>
    </span>
  );
}
