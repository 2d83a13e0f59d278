/** The list of combos, column by column. */
import { useNavigate } from "@tanstack/react-router";
import { Copy, CopyPlus, Dices, Ellipsis, EyeOff, FlaskConical, Trash2 } from "lucide-react";
import type { Combo } from "@/bindings";
import type { Column } from "@/components/DataTable";
import { notify } from "@/components/notify";
import { RelativeTime } from "@/components/Time";
import { IconButton } from "@/components/ui/button";
import { Menu, MenuItem } from "@/components/ui/menu";
import { Switch } from "@/components/ui/switch";
import { useFormat, useMessages } from "@/i18n";
import { targetOf } from "@/lib/combo-draft";
import { answeredPart } from "@/lib/usage";
import type { useComboActions } from "./use-combo-actions";
import { useComboRecord } from "./use-combo-record";
import { useComboSwitch } from "./use-combo-switch";

/** Names shown before the rest is only counted. */
const STEPS_SHOWN = 3;

type Actions = ReturnType<typeof useComboActions>;

export function useComboColumns(actions: Actions): Column<Combo>[] {
  const messages = useMessages();
  const words = messages.combos;
  const { columns } = messages.comboUse;
  return [
    {
      id: "name",
      header: words.columns.name,
      width: "minmax(140px, 1.6fr)",
      cell: (combo) => (
        <span className="flex min-w-0 items-center gap-2">
          <code className="truncate font-medium font-mono" title={combo.name}>
            {combo.name}
          </code>
          {combo.isHidden && (
            <span title={words.hiddenHelp} className="inline-flex shrink-0 items-center gap-1 text-ink-faint text-xs">
              <EyeOff aria-hidden className="size-3.5" />
              {words.hidden}
            </span>
          )}
        </span>
      ),
    },
    {
      id: "strategy",
      header: words.columns.strategy,
      width: "minmax(116px, 0.6fr)",
      cell: ({ strategy }) => (
        <span title={`${words.strategies[strategy]?.help ?? ""}\n${words.strategyTechnical(strategy)}`}>
          {words.strategies[strategy]?.name ?? strategy}
        </span>
      ),
    },
    {
      id: "steps",
      header: words.columns.steps,
      width: "minmax(140px, 2.4fr)",
      cell: (combo) => <Steps combo={combo} />,
    },
    {
      id: "answered",
      header: columns.answered,
      width: "76px",
      snug: true,
      align: "end",
      cell: ({ id }) => <Answered comboId={id} />,
    },
    {
      id: "takes",
      header: columns.takes,
      width: "64px",
      align: "end",
      roomy: true,
      cell: ({ id }) => <Takes comboId={id} />,
    },
    {
      id: "lastUsed",
      header: columns.lastUsed,
      width: "104px",
      align: "end",
      cell: ({ id }) => <LastUsed comboId={id} />,
    },
    {
      id: "active",
      header: words.columns.active,
      width: "44px",
      align: "end",
      cell: (combo, current) => <ActiveSwitch combo={combo} reachable={current} />,
    },
    {
      id: "actions",
      header: "",
      width: "20px",
      acts: true,
      cell: (combo, current) => <RowMenu combo={combo} reachable={current} actions={actions} />,
    },
  ];
}

function Steps({ combo: { models } }: { combo: Combo }) {
  const words = useMessages().combos;
  const on = models.filter(({ enabled }) => enabled);
  const off = models.length - on.length;
  const title = [...on.map(targetOf), ...(off > 0 ? [words.stepsOff(off)] : [])].join("\n");
  if (models.length === 0) return <span className="text-ink-faint">{words.noSteps}</span>;
  return (
    <span title={title} className="flex min-w-0 items-baseline gap-2">
      <span className="min-w-0 truncate font-mono text-ink-soft text-xs">
        {on.slice(0, STEPS_SHOWN).map((step, index) => (
          <span key={step.id}>
            {index > 0 && <span className="px-1.5 text-ink-faint">›</span>}
            {targetOf(step)}
          </span>
        ))}
      </span>
      {on.length > STEPS_SHOWN && (
        <span className="shrink-0 text-ink-faint text-xs">{words.more(on.length - STEPS_SHOWN)}</span>
      )}
      {on.length === 0 && <span className="text-ink-faint">{words.stepsOff(off)}</span>}
    </span>
  );
}

const UNKNOWN = <span className="text-ink-faint">–</span>;

function Answered({ comboId }: { comboId: string }) {
  const words = useMessages().comboUse;
  const format = useFormat();
  const record = useComboRecord()(comboId);
  const part = record ? answeredPart(record) : null;
  if (!record || part === null) return <span title={words.notAsked}>{UNKNOWN}</span>;
  const said = words.answeredOf(format.number(record.successes), format.number(record.successes + record.failures));
  return <span title={`${words.lastDay}: ${said}`}>{format.percent(part)}</span>;
}

function Takes({ comboId }: { comboId: string }) {
  const words = useMessages().comboUse;
  const format = useFormat();
  const record = useComboRecord()(comboId);
  if (!record || record.p50Ms === null) return UNKNOWN;
  const half = format.duration(record.p50Ms);
  const most = format.duration(record.p95Ms ?? record.p50Ms);
  return <span title={`${words.lastDay}: ${words.usually(half, most)}`}>{half}</span>;
}

function LastUsed({ comboId }: { comboId: string }) {
  const record = useComboRecord()(comboId);
  return record?.lastUsedAt ? <RelativeTime at={record.lastUsedAt} className="text-ink-soft" /> : UNKNOWN;
}

function ActiveSwitch({ combo, reachable }: { combo: Combo; reachable: boolean }) {
  const words = useMessages().combos;
  const switches = useComboSwitch();
  return (
    <Switch
      tabIndex={reachable ? 0 : -1}
      aria-label={words.switchOn(combo.name)}
      checked={switches.shown(combo)}
      onCheckedChange={(isActive) => switches.set(combo, isActive)}
      className="align-middle"
    />
  );
}

function RowMenu({ combo, reachable, actions }: { combo: Combo; reachable: boolean; actions: Actions }) {
  const messages = useMessages();
  const words = messages.combos;
  const navigate = useNavigate();
  return (
    <Menu
      trigger={
        <IconButton label={words.actionsOf(combo.name)} tabIndex={reachable ? 0 : -1}>
          <Ellipsis aria-hidden />
        </IconButton>
      }
    >
      <MenuItem
        onSelect={() =>
          void navigator.clipboard.writeText(combo.name).then(() => notify.done(words.nameCopied(combo.name)))
        }
      >
        <Copy aria-hidden />
        {words.copyName}
      </MenuItem>
      <MenuItem onSelect={() => actions.duplicate(combo)}>
        <CopyPlus aria-hidden />
        {words.duplicate}
      </MenuItem>
      <MenuItem onSelect={() => void navigate({ to: "/combos/$comboId/test", params: { comboId: combo.id } })}>
        <FlaskConical aria-hidden />
        {messages.comboUse.test.action}
      </MenuItem>
      <MenuItem onSelect={() => void navigate({ to: "/monitoring/simulate", search: { name: combo.name } })}>
        <Dices aria-hidden />
        {words.simulate}
      </MenuItem>
      <MenuItem danger onSelect={() => actions.remove(combo)}>
        <Trash2 aria-hidden />
        {words.delete}
      </MenuItem>
    </Menu>
  );
}
