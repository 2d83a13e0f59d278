/**
 * The rail and the palette's “Go to”, in the order of the interface page. A screen appears here when it exists: adding
 * one is an entry here, a route in `router.tsx`, and its words in both languages.
 */
import type { LinkProps } from "@tanstack/react-router";
import {
  Activity,
  ArrowLeftRight,
  Bot,
  ChartColumn,
  CircleHelp,
  Combine,
  Dices,
  Flag,
  Gauge,
  House,
  Info,
  KeyRound,
  LifeBuoy,
  ListTree,
  Lock,
  type LucideIcon,
  ScanText,
  Server,
  ShieldCheck,
  SlidersHorizontal,
  Snowflake,
  Tag,
  TimerReset,
} from "lucide-react";
import type { Messages } from "@/i18n";

export type NavigationEntry = {
  readonly to: NonNullable<LinkProps["to"]>;
  readonly icon: LucideIcon;
  label(messages: Messages): string;
};

export type NavigationGroup = {
  readonly title: ((messages: Messages) => string) | null;
  readonly entries: readonly NavigationEntry[];
};

export const navigation: readonly NavigationGroup[] = [
  {
    title: null,
    entries: [
      { to: "/home", icon: House, label: (m) => m.shell.home },
      { to: "/requests", icon: ListTree, label: (m) => m.shell.requests },
      { to: "/usage", icon: ChartColumn, label: (m) => m.shell.usage },
      { to: "/providers", icon: Server, label: (m) => m.shell.providers },
      { to: "/combos", icon: Combine, label: (m) => m.shell.combos },
      { to: "/monitoring/quota", icon: Gauge, label: (m) => m.shell.quota },
    ],
  },
  {
    title: (m) => m.shell.monitoring,
    entries: [
      { to: "/monitoring/health", icon: Activity, label: (m) => m.shell.health },
      { to: "/monitoring/cooldowns", icon: TimerReset, label: (m) => m.shell.cooldowns },
      { to: "/monitoring/explain", icon: CircleHelp, label: (m) => m.shell.explain },
      { to: "/monitoring/simulate", icon: Dices, label: (m) => m.shell.simulate },
    ],
  },
  {
    title: (m) => m.shell.settings,
    entries: [
      { to: "/settings/general", icon: SlidersHorizontal, label: (m) => m.shell.general },
      { to: "/settings/traffic", icon: ArrowLeftRight, label: (m) => m.traffic.title },
      { to: "/settings/resilience", icon: LifeBuoy, label: (m) => m.shell.resilience },
      { to: "/settings/cooldowns", icon: Snowflake, label: (m) => m.shell.modelCooldowns },
      { to: "/settings/lockout", icon: Lock, label: (m) => m.shell.modelLockout },
      { to: "/settings/rules", icon: ScanText, label: (m) => m.rules.title },
      { to: "/settings/flags", icon: Flag, label: (m) => m.flags.title },
      { to: "/settings/names", icon: Tag, label: (m) => m.shell.names },
      { to: "/settings/keys", icon: KeyRound, label: (m) => m.shell.apiKeys },
      { to: "/settings/agents", icon: Bot, label: (m) => m.shell.agents },
      { to: "/settings/security", icon: ShieldCheck, label: (m) => m.shell.security },
      { to: "/settings/about", icon: Info, label: (m) => m.shell.about },
    ],
  },
];
